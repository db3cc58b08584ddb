"""Publications at the end of a run: booked in the ledger before anything is released, drawn and written after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from geodp.curator.publications import Publication, Published, Records
from geodp.errors import BudgetSpent, DataError, UsageError
from geodp.privacy.ledger import Ledger
from geodp.privacy.noise import SimulatedNoise
from geodp.run_folder.folder import write_json
from geodp.scenario.costs import publication_charge, whole_run
from geodp.scenario.schema import Scenario
from geodp.storage.stamp import SIMULATED, write_simulated
from geodp.streams import Streams

if TYPE_CHECKING:
    from geodp.simulation.engine import World
    from geodp.tables.visits.histories import Histories, Venues

_ADVICE = "Raise curator.budget.epsilon, publish less, or lower the epsilon or the cap of what is published."


def records_of(scenario: Scenario, world: World, streams: Streams) -> Records:
    """Return what the curator holds about everyone; visits are drawn when first asked for, alike for all arms."""

    def visits() -> tuple[Histories, Venues]:
        from geodp.registry import plugin

        histories = scenario.workers.visit_source or plugin("generated_visits", "visit_source")
        rng = streams.generator("world.histories")
        found: tuple[Histories, Venues] = histories.visits(
            world.population, scenario.area, duration_s=scenario.duration_s, rng=rng
        )
        return found

    return Records(scenario.area, scenario.duration_s, world.motion, visits)


def book_publications(scenario: Scenario, records: Records, ledger: Ledger) -> None:
    """Check every publication and charge it, for the end of the run, before the run releases anything.

    What will be published is a public setting. Booked first, it is paid for whatever the releases before it cost; they
    make do with the rest, and a publication that cannot be paid for stops the run before it starts. It tells about the
    whole run, so it counts in every day and every window of a budget that comes back.
    """
    for index, item in enumerate(scenario.publish):
        try:
            item.check_records(records)
            asked = publication_charge(item, scenario)
            if asked is not None:
                promise, account = asked
                period = whole_run(scenario)
                ledger.charge(
                    promise,
                    time_s=period[1],
                    mechanism=item.kind,
                    account=account,
                    parts=item.parts(),
                    period=period,
                )
        except BudgetSpent as short:
            raise BudgetSpent(short.requested, short.remaining, short.time_s, advice=_ADVICE) from None
        except (DataError, UsageError) as error:
            raise type(error)(f"publish.{index} ({item.kind}): {error}") from error


def write_publications(scenario: Scenario, records: Records, streams: Streams, folder: Path) -> None:
    """Draw every publication in order, and write what is public apart from the truth."""
    if scenario.needs_visits:
        _write_visits(records, folder)
    if scenario.needs_trajectories:
        frame = records.trajectories().frame(records.region)
        write_simulated(frame, folder / "truth" / "trajectories.parquet", index=False)
    for index, item in enumerate(scenario.publish):
        noise = SimulatedNoise(streams.generator(f"publish.noise.{index}"))
        _write(folder, index, item, item.publish(records, noise))


def _write(folder: Path, index: int, item: Publication, published: Published) -> None:
    """Write one publication: `releases/publications/` is public, `truth/publications/` is not."""
    name = f"{index}-{item.kind}"
    public, private = folder / "releases" / "publications", folder / "truth" / "publications" / name
    public.mkdir(exist_ok=True)
    private.mkdir(parents=True)
    write_simulated(published.released, public / f"{name}.parquet", index=False)
    promise, cost = item.guarantee(), item.cost()
    facts = {
        **SIMULATED,
        "index": index,
        "kind": item.kind,
        "fields": item.settings_in_force(),
        "releases": sorted(item.releases),
        "guarantee": promise.as_dict(),
        "sentence": promise.sentence(),
        "per_person": cost.as_dict(),
        "rows": len(published.released),
        "facts": dict(published.facts),
    }
    write_json(public / f"{name}.json", facts)
    for table, frame in published.truth.items():
        write_simulated(frame, private / f"{table}.parquet", index=False)


def _write_visits(records: Records, folder: Path) -> None:
    """Write the public list of venues, and the true visits apart."""
    from geodp.run_folder.visits_store import write_venues, write_visits

    histories, venues = records.visits()
    write_venues(folder / "releases" / "venues.parquet", venues)
    write_visits(folder / "truth" / "visits.parquet", histories)
