"""Whom offers go to, as tests look at it."""

from geodp.public.messages import Circle, GeocastRegion, Named, Offer, Rectangle


def radius_m(offer: Offer) -> float:
    """Return the radius of the circle, 0 where there is none."""
    return offer.target.radius_m if isinstance(offer.target, Circle) else 0.0


def rectangles(offer: Offer) -> tuple[Rectangle, ...]:
    """Return the rectangles of the region, () where there is none."""
    return offer.target.rectangles if isinstance(offer.target, GeocastRegion) else ()


def pseudonyms(offer: Offer) -> tuple[str, ...]:
    """Return who is asked by name, () where nobody is."""
    return offer.target.pseudonyms if isinstance(offer.target, Named) else ()
