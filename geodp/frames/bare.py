"""Mechanisms, phones and attacks as functions of a data frame: `geodp.mechanism(…).release(frame)`, and so on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from geodp.attacks import Attack, AttackView
from geodp.curator.mechanisms import Mechanism, Snapshot
from geodp.device import DecoyDevice, Device
from geodp.device.cell_response import CellResponse
from geodp.errors import UsageError
from geodp.frames.charges import NoiseLike, bare_call, charge_ledger, choose_noise, hide_reasons, require_promise
from geodp.frames.guesses import ask_attack, score_guesses
from geodp.frames.places import Columns, Places, keep_inside, read_places, read_times
from geodp.frames.plugins import build_plugin
from geodp.frames.public_inputs import StatedInputs
from geodp.frames.regions import RegionLike, as_region
from geodp.frames.release import CRS, Release
from geodp.frames.snapshots import list_facts, require_sound_grid, settle_expected_workers
from geodp.geometry import Array, Region
from geodp.privacy.noise import Noise
from geodp.public.guarantee import Guarantee, Neighbours
from geodp.public.release import Cells, Points
from geodp.server.cells_from_reports import cells_from_reports
from geodp.tables.regions import require_sound

if TYPE_CHECKING:
    import geopandas

    from geodp.attacks import Guesses

LedgerName = str | os.PathLike[str] | None


MadeUp = dict[str, tuple[Array, Array]]
"""Made-up places that each person's phone reported last, by name."""


@dataclass(frozen=True)
class _Moments:
    """Public moments of releases."""

    seconds: tuple[float, ...]
    several: bool

    @classmethod
    def of(cls, at: Any, time: str | None, within_s: float | None) -> _Moments:
        if time is None:
            if at is not None or within_s is not None:
                raise UsageError("at= and within_s= choose rows by their time: say which column it is, time=….")
            return cls((0.0,), several=False)
        if at is None:
            raise UsageError(
                f"time={time!r} says when each row was; say at which public moments to release: at=[0, 600]. Reading "
                "them off the data would tell when people were there."
            )
        if within_s is not None and not within_s > 0:
            raise UsageError(f"within_s must be greater than 0, got {within_s!r}.")
        several = not np.isscalar(at) and hasattr(at, "__len__")
        seconds = read_times(list(at) if several else [at])
        if not np.isfinite(seconds).all() or not seconds.size:
            raise UsageError(f"at={at!r}: moments are numbers of seconds or dates.")
        if (np.diff(seconds) <= 0).any():
            raise UsageError(f"at={at!r}: moments must ascend.")
        return cls(tuple(seconds.tolist()), several)


@dataclass(frozen=True, eq=False)
class _Input:
    """Private places, read and bounded, with the public region."""

    places: Places
    region: Region
    moments: _Moments
    within_s: float | None
    total: bool

    def at(self, moment_s: float) -> tuple[Places, Array, Array]:
        """Return where everyone is at a moment, inside the region."""
        timed = self.places.time_s is not None
        now = self.places.find_last_rows(until_s=moment_s if timed else None, within_s=self.within_s)
        return keep_inside(now, self.region, total=self.total or timed)


def _read_input(
    data: Any,
    columns: Columns,
    inputs: StatedInputs,
    region: RegionLike,
    *,
    at: Any,
    within_s: float | None,
) -> _Input:
    total = inputs.releasing
    moments = _Moments.of(at, columns.time, within_s)
    if columns.time is not None and columns.user is None:
        raise UsageError(
            "time= needs user=: at each moment everyone's last row counts, so somebody must say whose it is."
        )
    with_rows: list[Places] = []

    def derive() -> Region:
        found = with_rows[0].find_box()
        require_sound(found)
        return found

    given = None if region is None else as_region(region)
    places = read_places(data, columns, total=total)
    with_rows.append(places)
    area = inputs.settle("region", "--region W,S,E,N", given, derive)
    if not total:  # whether anybody is there at all, and columns in their right places
        keep_inside(places, area, total=False)
    if not total and columns.time is None and (again := places.who.size - places.find_last_rows().who.size):
        inputs.warnings.append(
            f"{again:,} rows are earlier ones of the same {columns.user}: everyone's last row counts."
        )
    return _Input(places, area, moments, within_s, total)


def _one_or_all(releases: list[Release], moments: _Moments) -> Any:
    return releases if moments.several else releases[0]


@dataclass(frozen=True)
class BareMechanism:
    """A mechanism of the curator as a function of a data frame.

    Parameters
    ----------
    plugin
        The mechanism with its settings.

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> people = pd.DataFrame({"lon": [10.01, 10.02, 10.02], "lat": [50.01, 50.02, 50.03]})
    >>> contour = geodp.mechanism("contour", epsilon=0.5, cell_m=300)
    >>> release = contour.release(people, region=(10.0, 50.0, 10.08, 50.05), noise=1)
    >>> release.guarantee.epsilon
    0.5
    """

    plugin: Mechanism

    def guarantee(self, neighbours: str = "add_remove") -> Guarantee:
        """Say what one release promises.

        Parameters
        ----------
        neighbours
            The change that stays hidden: `add_remove` or `replace`.
        """
        return self.plugin.guarantee(_read_neighbours(neighbours))

    def release(
        self,
        data: Any,
        *,
        region: RegionLike = None,
        noise: NoiseLike = "simulate",
        lon: str | None = None,
        lat: str | None = None,
        user: str | None = None,
        time: str | None = None,
        at: Any = None,
        within_s: float | None = None,
        expected_workers: float | None = None,
        neighbours: str = "add_remove",
        ledger: LedgerName = None,
        budget: float | None = None,
    ) -> Any:
        """Publish noisy counts of where the people of a frame are.

        This is the bare mechanism: it has no ledger of its own, and whoever calls it twice spends twice. Name one
        (`ledger`), or use `geodp.publish.positions`, which keeps one, writes files and states what it did.

        Parameters
        ----------
        data
            The private places: a GeoDataFrame of points in any CRS, or a DataFrame with longitudes and latitudes.
        region
            The public area: (west, south, east, north) in degrees, a polygon, a GeoDataFrame of polygons, a file, or a
            `Region`. Default: the box of the data, with a warning and a promise that does not hold; never in a release.
        noise
            `simulate` (unlike each time), a seed or a numpy generator (the same again), or `release`: OpenDP's exact
            samplers (extra `release`), for noise that may leave the house. Then rows that cannot be used are left out
            without a word, since an error would tell about somebody.
        lon, lat
            Columns of longitude and latitude, degrees. Default: the geometry, or columns of usual names.
        user
            Column that says whose a row is: everyone's last row counts. Default: every row is a person of its own.
        time, at, within_s
            Column of times (seconds or dates), the public moments at which to release, and how old a row may be
            (seconds; default: any age). At each moment everyone's last row counts.
        expected_workers
            Public estimate of the number of people, for floors and for cells whose size depends on it.
        neighbours
            The change that stays hidden: `add_remove` (one person more or less), or `replace` (one who is elsewhere).
        ledger, budget
            File of a ledger that is asked first, and the budget of the account where it has none.

        Returns
        -------
        Release
            The release; a list of them where `at` is a list.

        Raises
        ------
        DataError
            If the data cannot be used as they are.
        UsageError
            If what is asked makes no sense, or a release lacks a public input.
        NotReleasable
            If a release is asked of what promises nothing that holds.
        BudgetSpent
            If the ledger refuses.
        """
        relation, source = _read_neighbours(neighbours), choose_noise(noise)
        inputs = StatedInputs(source.releasable)
        with bare_call(source, inputs.warnings):
            found = _read_input(data, Columns(lon, lat, user, time), inputs, region, at=at, within_s=within_s)
            mechanism, expected = self._fit(found, inputs, expected_workers)
            promise = inputs.honest(mechanism.guarantee(relation))
            require_promise(source, promise, mechanism.kind)
            numbers = range(len(found.moments.seconds))
            paid = sum(mechanism.measures(number) for number in numbers)
            per_person = promise.repeat(max(paid, 1))
            charge_ledger(ledger, promise, per_person, mechanism=mechanism.kind, noise=source, budget=budget)
            released: list[Release] = []
            with hide_reasons(source):
                earlier: Cells | None = None
                for number, moment_s in enumerate(found.moments.seconds):
                    now, x_m, y_m = found.at(moment_s)
                    names = now.who.astype(np.str_) if "cloaks" in mechanism.releases else None
                    snapshot = Snapshot(moment_s, x_m, y_m, found.region, expected, neighbours=relation, names=names)
                    earlier = mechanism.release_next(earlier, snapshot, source, number=number)
                    stated = replace(earlier, guarantee=inputs.honest(earlier.guarantee))
                    released.append(Release(stated, found.region, source.releasable))
        return _one_or_all(released, found.moments)

    def _fit(self, found: _Input, inputs: StatedInputs, expected_workers: float | None) -> tuple[Mechanism, float]:
        """Return the mechanism with its public defaults written out, and the public number of people."""
        if expected_workers is not None and not expected_workers > 0:
            raise UsageError(f"expected_workers must be greater than 0, got {expected_workers!r}.")
        rows = found.places.find_last_rows().who.size
        if expected_workers is not None:  # floors depend on it, whether or not cells do
            inputs.values["expected_workers"] = expected_workers
            expected = float(expected_workers)
        else:
            expected = settle_expected_workers(self.plugin, found.region, inputs, None, rows=rows)
        mechanism = self.plugin.resolve(list_facts(found.region, expected)) if expected else self.plugin
        require_sound_grid(mechanism, found.region)
        return mechanism, expected


def _read_neighbours(stated: str) -> Neighbours:
    if stated not in (Neighbours.ADD_REMOVE, Neighbours.REPLACE):
        raise UsageError(f"neighbours must be 'add_remove' or 'replace', got {stated!r}.")
    return Neighbours(stated)


@dataclass(frozen=True)
class BareDevice:
    """A mechanism of the phone as a function of a data frame.

    Parameters
    ----------
    plugin
        The mechanism with its settings.

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> people = pd.DataFrame({"lon": [10.01, 10.02, 10.02], "lat": [50.01, 50.02, 50.03]})
    >>> phones = geodp.device("planar_laplace", epsilon_per_m=0.01)
    >>> len(phones.report(people, region=(10.0, 50.0, 10.08, 50.05), noise=1))
    3
    """

    plugin: Device

    def guarantee(self, region: RegionLike = None) -> Guarantee:
        """Say what one report promises; with a region, in metres on the ground.

        Parameters
        ----------
        region
            The public area.
        """
        return self.plugin.guarantee(None if region is None else as_region(region))

    def report(
        self,
        data: Any,
        *,
        region: RegionLike = None,
        noise: NoiseLike = "simulate",
        lon: str | None = None,
        lat: str | None = None,
        user: str | None = None,
        time: str | None = None,
        at: Any = None,
        within_s: float | None = None,
        ledger: LedgerName = None,
        budget: float | None = None,
    ) -> Any:
        """Return what the phones of the people of a frame report.

        This is the bare mechanism: it has no ledger of its own. Name one (`ledger`), or use `geodp.publish.positions`.

        Parameters
        ----------
        data
            The private places: a GeoDataFrame of points in any CRS, or a DataFrame with longitudes and latitudes.
        region
            The public area, as for `geodp.mechanism`: reports beyond it are moved to its edge.
        noise
            `simulate`, a seed, a numpy generator, or `release`, as for `geodp.mechanism`. A release is shuffled: the
            order of rows may tell places.
        lon, lat
            Columns of longitude and latitude, degrees. Default: the geometry, or columns of usual names.
        user
            Column that says whose a row is: everyone's last row is reported, under that name. Default: rows are
            numbered.
        time, at, within_s
            Column of times, the public moments of reports, and how old a row may be, as for `geodp.mechanism`.
        ledger, budget
            File of a ledger that is asked first, and the budget per metre of the account where it has none.

        Returns
        -------
        Release
            The reports, in the order of names; of answers about cells (`cell_response`) the counts that a server works
            out of them, with the answers in `reports`. A list of releases where `at` is a list.

        Raises
        ------
        DataError
            If the data cannot be used as they are.
        UsageError
            If what is asked makes no sense, or a release lacks a public input.
        NotReleasable
            If a release is asked of what promises nothing that holds.
        BudgetSpent
            If the ledger refuses.
        """
        source, device = choose_noise(noise), self.plugin
        inputs = StatedInputs(source.releasable)
        with bare_call(source, inputs.warnings):
            found = _read_input(data, Columns(lon, lat, user, time), inputs, region, at=at, within_s=within_s)
            promise = inputs.honest(device.guarantee(found.region))
            require_promise(source, promise, device.kind)
            per_person = promise.repeat(len(found.moments.seconds))
            charge_ledger(ledger, promise, per_person, mechanism=device.kind, noise=source, budget=budget)
            with hide_reasons(source):
                made_up: MadeUp = {}
                made = [self._report_at(moment, found, promise, source, made_up) for moment in found.moments.seconds]
        return _one_or_all(made, found.moments)

    def _report_at(self, moment_s: float, found: _Input, promise: Guarantee, noise: Noise, made_up: MadeUp) -> Release:
        now, x_m, y_m = found.at(moment_s)
        region = found.region
        who = now.who.astype(np.str_)
        if noise.releasable and not now.named:  # numbers of rows would tell their order
            who = np.char.zfill(np.argsort(noise.uniform(who.size)).astype(np.str_), len(str(who.size)))
        order = np.argsort(who, kind="stable")
        if isinstance(self.plugin, CellResponse):
            answers = self.plugin.respond(
                x_m[order], y_m[order], rng=noise, region=region, who=who[order], time_s=moment_s
            )
            return Release(cells_from_reports(answers), region, noise.releasable, answers)
        about: dict[str, Any] = {
            "time_s": moment_s,
            "mechanism": self.plugin.kind,
            "guarantee": promise,
            "who": who[order],
            "floor_per_m2": who.size / (10 * region.area_m2),
        }
        if isinstance(self.plugin, DecoyDevice):
            last = _recall(who[order].tolist(), made_up)
            reported, new = self.plugin.report_all(
                x_m[order], y_m[order], rng=noise, region=region, last=last, about=about
            )
            made_up |= dict(zip(who[order].tolist(), zip(*new, strict=True), strict=True))
            return Release(reported, region, noise.releasable)
        reported_x, reported_y = self.plugin.report(x_m, y_m, rng=noise, region=region)
        points = Points(
            **about,
            x_m=np.asarray(reported_x)[order],
            y_m=np.asarray(reported_y)[order],
            channel=self.plugin.channel(region),
        )
        return Release(points, region, noise.releasable)


def _recall(who: list[str], made_up: MadeUp) -> tuple[Array, Array] | None:
    """Return the made-up places of the last reports, NaN for those who have reported none."""
    if not made_up:
        return None
    missing = np.full_like(next(iter(made_up.values())), np.nan)
    x_m, y_m = np.stack([np.asarray(made_up.get(name, missing)) for name in who], axis=1)
    return x_m, y_m


@dataclass(frozen=True)
class BareAttack:
    """An attack as a function of releases.

    Parameters
    ----------
    plugin
        The attack with its settings.

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> people = pd.DataFrame({"lon": [10.01, 10.02, 10.02], "lat": [50.01, 50.02, 50.03]})
    >>> seen = geodp.device("planar_laplace", epsilon_per_m=0.1).report(people, region=(10, 50, 10.08, 50.05), noise=1)
    >>> scores = geodp.attack("bayes_location").score(seen, people)
    >>> len(scores), scores.crs.to_epsg(), bool((scores["error_m"] < 200).all())
    (3, 4326, True)
    """

    plugin: Attack

    def guess(self, releases: Release | Sequence[Release]) -> geopandas.GeoDataFrame:
        """Return where the attack thinks that people are, from the releases alone.

        Parameters
        ----------
        releases
            A release, or several of the same region in order of time (`run.releases`).

        Returns
        -------
        geopandas.GeoDataFrame
            A row per guess: `method`, `release` (its number), `time_s`, `who` ('' where a guess names nobody), and the
            place in EPSG:4326.

        Raises
        ------
        UsageError
            If there is no release, or they are of several regions.
        """
        seen = _read_releases(releases)
        guesses = self._guess(seen)
        import pandas as pd

        times = np.array([release.time_s for release in seen])
        frame = pd.DataFrame({
            "method": guesses.method.astype(object),
            "release": guesses.release,
            "time_s": times[guesses.release],
            "who": guesses.who.astype(object),
        })  # fmt: skip
        return _with_points(frame, seen[0].region, guesses.x_m, guesses.y_m)

    def score(
        self,
        releases: Release | Sequence[Release],
        truth: Any,
        *,
        lon: str | None = None,
        lat: str | None = None,
        user: str | None = None,
        time: str | None = None,
    ) -> geopandas.GeoDataFrame:
        """Hold the guesses of the attack against the truth, which it does not see.

        Parameters
        ----------
        releases
            A release, or several of the same region in order of time.
        truth
            Where people truly are: the frame that was released.
        lon, lat, user, time
            Its columns, as they were named when it was released.

        Returns
        -------
        geopandas.GeoDataFrame
            A row per guess and person: `method`, `release`, `time_s`, `who`, `error_m`, `prior_error_m` (of a guess
            without any release), `hit` (within `hit_radius_m`), and the place guessed. A guess that names nobody is
            held against everybody.

        Raises
        ------
        UsageError
            If there is no release, or they are of several regions.
        DataError
            If the truth cannot be used as it is.
        """
        import pandas as pd

        seen = _read_releases(releases)
        region = seen[0].region
        with bare_call(choose_noise(0), []):
            places = read_places(truth, Columns(lon, lat, user, time), total=False)
            parts = []
            for number, release in enumerate(seen):
                now = places.find_last_rows(until_s=None if time is None else release.time_s)
                inside, x_m, y_m = keep_inside(now, region, total=time is not None)
                parts.append(pd.DataFrame({"release": number, "who": inside.who.astype(str), "x_m": x_m, "y_m": y_m}))
        scored = score_guesses(self._guess(seen), pd.concat(parts, ignore_index=True), self.plugin.hit_radius_m)
        times = np.array([release.time_s for release in seen])
        scored = scored.assign(time_s=times[scored["release"].to_numpy()])
        kept = scored[["method", "release", "time_s", "who", "error_m", "prior_error_m", "hit"]]
        return _with_points(kept, region, scored["x_m"].to_numpy(), scored["y_m"].to_numpy(), truth=True)

    def _guess(self, seen: Sequence[Release]) -> Guesses:
        return ask_attack(
            self.plugin,
            AttackView(seen[0].region, [release.data for release in seen], [release.reports for release in seen]),
        )


def _read_releases(stated: Release | Sequence[Release]) -> list[Release]:
    seen = [stated] if isinstance(stated, Release) else list(stated)
    if not seen or not all(isinstance(release, Release) for release in seen):
        raise UsageError("an attack looks at releases: give one, or a list (run.releases).")
    if len({release.region.box_m for release in seen}) > 1:
        raise UsageError("the releases are of several regions: an attack looks at those of one.")
    if any(a.time_s > b.time_s for a, b in pairwise(seen)):
        raise UsageError("the releases must be in order of time.")
    return seen


def _with_points(frame: Any, region: Region, x_m: Array, y_m: Array, *, truth: bool = False) -> Any:
    import geopandas

    lon, lat = region.projection.to_lonlat(x_m=x_m, y_m=y_m)
    made = geopandas.GeoDataFrame(frame, geometry=geopandas.points_from_xy(lon, lat, crs=CRS))
    made.attrs["truth"] = truth
    return made


def mechanism(kind: str, /, **fields: Any) -> BareMechanism:
    """Return a mechanism of the curator as a function of a (Geo)DataFrame: `.release(frame, region=…, noise=…)`.

    Parameters
    ----------
    kind
        Its name, as `geodp list mechanism` has it.
    **fields
        Its fields, as in YAML; those left out have their defaults.

    Returns
    -------
    BareMechanism
        The mechanism, without a ledger.

    Raises
    ------
    UsageError
        If there is no such mechanism.
    ScenarioError
        If fields are wrong; it lists all of them.

    Examples
    --------
    A frame of one's own goes through a mechanism, and comes back as cells in EPSG:4326:

    >>> import geodp, geopandas
    >>> places = geopandas.points_from_xy([10.01, 10.02, 10.02], [50.01, 50.02, 50.03], crs=4326)
    >>> people = geopandas.GeoDataFrame(geometry=places).to_crs(32632)
    >>> contour = geodp.mechanism("contour", epsilon=0.3, cell_m=300)
    >>> release = contour.release(people, region=(10.0, 50.0, 10.08, 50.05), noise=1)
    >>> release.to_geodataframe().crs.to_epsg()
    4326
    """
    return BareMechanism(cast("Mechanism", build_plugin("mechanism", kind, fields)))


def device(kind: str, /, **fields: Any) -> BareDevice:
    """Return a mechanism of the phone as a function of a (Geo)DataFrame: `.report(frame, region=…, noise=…)`.

    Parameters
    ----------
    kind
        Its name, as `geodp list device` has it.
    **fields
        Its fields, as in YAML; those left out have their defaults.

    Returns
    -------
    BareDevice
        The mechanism, without a ledger.

    Raises
    ------
    UsageError
        If there is no such mechanism.
    ScenarioError
        If fields are wrong; it lists all of them.

    Examples
    --------
    >>> import geodp, pandas as pd
    >>> people = pd.DataFrame({"name": ["a", "b"], "lon": [10.01, 10.02], "lat": [50.01, 50.02]})
    >>> phones = geodp.device("planar_laplace", epsilon_per_m=0.01)
    >>> phones.report(people, user="name", region=(10, 50, 10.08, 50.05), noise=1).to_geodataframe()["who"].tolist()
    ['a', 'b']
    """
    return BareDevice(cast("Device", build_plugin("device", kind, fields)))


def attack(kind: str, /, **fields: Any) -> BareAttack:
    """Return an attack as a function of releases: `.guess(releases)`, and `.score(releases, truth)`.

    Parameters
    ----------
    kind
        Its name, as `geodp list attack` has it.
    **fields
        Its fields, as in YAML; those left out have their defaults.

    Returns
    -------
    BareAttack
        The attack.

    Raises
    ------
    UsageError
        If there is no such attack.
    ScenarioError
        If fields are wrong; it lists all of them.

    Examples
    --------
    >>> import geodp
    >>> small = {"duration_s": 600, "workers.source.count": 200}
    >>> run = geodp.run("scenarios/quickstart.yaml", "attacked", overrides=small, draw_map=False)
    >>> geodp.attack("bayes_location").guess(run.releases)["release"].tolist()
    [0]
    """
    return BareAttack(cast("Attack", build_plugin("attack", kind, fields)))
