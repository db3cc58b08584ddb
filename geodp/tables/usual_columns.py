"""What columns are usually called: the one list of names by which a person, a place, a time or a venue is known.

A column that goes by its own name is taken; one that goes by another usual name is taken and said; of two that could
be meant neither is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from geodp.errors import DataError
from geodp.tables.notices import guess

OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "person": (
        "worker", "worker_id", "user", "user_id", "username", "uid", "person", "person_id", "individual",
        "individual_id", "device", "device_id", "phone", "phone_id", "phone_number", "imei", "imsi", "msisdn", "maid",
        "ad_id", "advertiser_id", "caid", "subscriber", "subscriber_id", "customer", "customer_id", "client_id",
        "member_id", "account", "account_id", "driver", "driver_id", "taxi", "taxi_id", "cab", "cab_id", "vehicle",
        "vehicle_id", "courier", "courier_id", "rider", "rider_id", "agent", "agent_id", "object_id", "mover_id",
        "owner", "owner_id", "trip_owner", "participant", "participant_id", "respondent_id", "id",
    ),
    "lon": ("lon", "longitude", "lng", "long", "lon_deg", "longitude_deg", "wgs84_lon", "gps_lon"),
    "lat": ("lat", "latitude", "lat_deg", "latitude_deg", "wgs84_lat", "gps_lat"),
    "time": (
        "time_s", "time", "timestamp", "datetime", "date", "utc_time", "utc_timestamp", "time_utc",
        "local_time", "gps_time", "check_in_time", "unix_time", "unix_timestamp", "epoch", "epoch_s", "epoch_ms",
        "timestamp_ms", "seconds", "recorded_at", "created_at", "t", "ts",
    ),
    "venue": (
        "venue", "venue_id", "poi", "poi_id", "place", "place_id", "location", "location_id", "loc", "loc_id", "spot",
        "spot_id", "item", "item_id", "shop_id", "store_id", "business_id", "station", "station_id",
    ),
    "trajectory": (
        "trajectory", "trajectory_id", "traj", "traj_id", "trip", "trip_id", "track", "track_id", "tid", "journey_id",
        "route_id",
    ),
}  # fmt: skip
"""Names by what they stand for; case and signs such as `_` make no difference."""
PART_OF = {"user": "person", "worker": "person", "time_s": "time"}
"""What the columns of our own tables stand for, where they are not called so."""
_UNSURE = {"lon": ("x",), "lat": ("y",)}
"""Names that may as well stand for metres."""
_WORDS = {
    "person": "whose a row is",
    "lon": "the longitude",
    "lat": "the latitude",
    "time": "the time",
    "venue": "the venue",
    "trajectory": "which trip a row is part of",
}


def candidates(usual: str, found: Sequence[str]) -> list[str]:
    """Return the columns that go by a usual name of the wanted one: itself alone where it is there."""
    if usual in found:
        return [usual]
    known = {_plain(name) for name in (usual, *OTHER_NAMES.get(part_of(usual), ()))}
    return [column for column in found if _plain(column) in known]


def likely(usual: str, found: Sequence[str]) -> str | None:
    """Return a column that may be the wanted one: to ask about, not to take."""
    unsure = [column for column in found if _plain(column) in _UNSURE.get(usual, ())]
    return next(iter([*candidates(usual, found), *unsure]), None)


def find_column(path: Path, usual: str, found: Sequence[str], *, name_it: str) -> str | None:
    """Return the column that stands for the usual one, saying so where it is called otherwise; None: there is none.

    Parameters
    ----------
    path
        The file, for messages.
    usual
        What the column is called in our own tables.
    found
        The file's columns.
    name_it
        How the holder of the file states which column it is, e.g. "name it in worker_column".
    """
    if part_of(usual) not in OTHER_NAMES:
        return usual if usual in found else None
    like, what = candidates(usual, found), _WORDS[part_of(usual)]
    if len(like) > 1:
        listed = ", ".join(f"'{name}'" for name in like[:-1])
        raise DataError(f"{path.name}: {listed} or '{like[-1]}' could say {what}. Which one? Please {name_it}.")
    if like and like[0] != usual:
        guess(f"{path.name}: column '{like[0]}' is taken for {what} (no column '{usual}').", instead=name_it)
    return like[0] if like else None


def part_of(usual: str) -> str:
    """Return what a column of our own tables stands for."""
    return PART_OF.get(usual, usual)


def _plain(name: str) -> str:
    """Return a name without what people write differently: case, blanks, `_`, `-`, `.`."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())
