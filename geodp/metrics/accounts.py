"""What a run cost people, account by account; unlike accounts are never added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from geodp.metrics import Measured, Metric
from geodp.metrics.intervals import mean
from geodp.public.guarantee import Unit

if TYPE_CHECKING:
    import pandas as pd

    from geodp.run_folder.folder import RunFolder


_OF_A_GROUP = r"^group ([^ ,]+)"
"""How scopes of charges to public groups begin."""


class AccountMetric(Metric):
    """Metrics that read an account off the ledger: less is better, and anybody may know it."""

    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"
    public: ClassVar[bool] = True


class EpsilonSpent(AccountMetric):
    """Epsilon that the curator's releases and publications cost each person over the whole run (central account).

    The ledger's total, in the neighbour relation of the releases. Undefined (null), not zero, when something
    was released without a guarantee that holds: no epsilon describes exact counts. Reports made under a
    metric guarantee (`epsilon_per_m_spent`) and what the protocol itself discloses (`interaction_leakage_mean`) are
    other accounts, never added: without a curator, where phones report by themselves, this one is undefined. Where
    groups have levels of their own, also for the members of each: `epsilon_spent_careful`; where a filter decides who
    is counted, it is the most that anybody can have spent, which is public. Where something promises ρ, or is about
    days of the data, it is what all comes to for a person, at the δ of the run; `epsilon_spent_day` is that of one day.
    """

    kind: ClassVar[str] = "epsilon_spent"
    label: ClassVar[str] = "ε spent per person"
    unit: ClassVar[str] = "epsilon"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Read the total off the ledger."""
        promises = [release.guarantee for release in run.releases] + [item.per_person for item in run.publications]
        central = run.central_charges
        if run.spent_by_days is not None and all(promise.holds for promise in promises):
            told = run.spent_by_days.state()
            return {self.kind: Measured(told["user"]), f"{self.kind}_day": Measured(told["person_day"])}
        # Reports are charged to another account; zero would look like less.
        if not all(promise.holds for promise in promises) or (central.empty and run.scenario.phones_report):
            return {self.kind: Measured(None)}
        return {self.kind: Measured(float(central["total"].max()) if len(central) else 0.0)} | _by_group(
            self.kind, central
        )


def _by_group(key: str, charges: pd.DataFrame) -> dict[str, Measured]:
    """Return the most that members of each public group spent (nothing where everyone is charged alike)."""
    group = charges["scope"].astype(str).str.extract(_OF_A_GROUP)[0]
    totals = charges["total"].groupby(group).max()
    return {f"{key}_{name}": Measured(float(total)) for name, total in totals.items()}


class EpsilonPerMetreSpent(AccountMetric):
    """Epsilon per metre that all reports of one phone cost together over the whole run (metric account).

    Tracks that are nowhere further apart than d metres change the odds of all reports together by at most exp of this
    times d (plus what rounding adds to d); where answers are repeated, this holds for tracks that return to their cells
    alike. It has another unit than the curator's epsilon and is never added to it or compared with it: compare what an
    adversary finds (`attack_error_m`). Undefined (null) when phones promise nothing.
    """

    kind: ClassVar[str] = "epsilon_per_m_spent"
    label: ClassVar[str] = "ε per metre spent"
    unit: ClassVar[str] = "1/m"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Read the total off the ledger."""
        metric = run.charges(Unit.POINT)
        return {self.kind: Measured(float(metric["total"].max()) if len(metric) else None)} | _by_group(
            self.kind, metric
        )


class EpsilonLocalSpent(AccountMetric):
    """Epsilon that all answers of one phone about its cell cost over the run, with nobody trusted (local account).

    Answers add up: each costs its epsilon again. It is never added to the epsilon of a curator's releases, which has
    to be trusted. Only where phones answer about cells.
    """

    kind: ClassVar[str] = "epsilon_local_spent"
    label: ClassVar[str] = "ε spent per person, nobody trusted"
    unit: ClassVar[str] = "epsilon"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Read the total off the ledger."""
        local = run.local_charges
        return {self.kind: Measured(float(local["total"].max()))} if len(local) else {}


class EpsilonPerItemSpent(AccountMetric):
    """Epsilon that phones' reports about histories cost per item over the whole run (an account of its own).

    Reports compose as the history grows: each costs its epsilon again. A history of k items together is protected at k
    times this. Undefined (null) when a report's promise does not hold. Only where phones tell about histories.
    """

    kind: ClassVar[str] = "epsilon_per_item_spent"
    label: ClassVar[str] = "ε per item spent"
    unit: ClassVar[str] = "epsilon per item"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Read the total off the ledger."""
        if run.scenario.device.history_report is None:
            return {}
        if not all(report.guarantee.holds for report in run.history_reports):
            return {self.kind: Measured(None)}
        item = run.charges(Unit.ITEM)
        return {self.kind: Measured(float(item["total"].max()) if len(item) else 0.0)}


class CountedShare(Metric):
    """Share of the people present whom the releases counted, where a filter leaves out who has spent her budget.

    Mean over the releases that look at people; with groups also for each: `counted_share_careful`. Private: how many
    have dropped out is never published. Undefined (null) where everyone is counted, or nobody was there.
    """

    kind: ClassVar[str] = "counted_share"
    label: ClassVar[str] = "share of people counted"
    unit: ClassVar[str] = "share"
    better: ClassVar[str] = "higher"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Average over releases."""
        counted = run.counted
        if counted is None:
            return {}
        found = {self.kind: _mean_share(counted)}
        groups = counted[counted["group"] != ""].groupby("group", sort=False)
        return found | {f"{self.kind}_{name}": _mean_share(rows) for name, rows in groups}


def _mean_share(counted: pd.DataFrame) -> Measured:
    """Return the mean of the shares; budgets run out by a schedule, so there is no interval to it."""
    sums = counted.groupby("time_s")[["present", "counted"]].sum()
    sums = sums[sums["present"] > 0]
    return Measured(float((sums["counted"] / sums["present"]).mean()) if len(sums) else None)


class InteractionLeakage(Metric):
    """What outcomes of offers disclose about those asked and not named, in nats: mean over workers, and the worst-off.

    Releases are differentially private; the protocol is not. Who accepts depends on where people truly are. Of each
    task the server sees that nobody took it, or who did. A worker who was asked, and accepts with probability θ, makes
    "nobody" less likely by a factor of 1 - θ, and "somebody else" by 1 - θ(1 - κ), where κ is how likely that one is
    still picked when she accepts, too. -ln of these, added up over the tasks, is what is counted here, for everyone
    who could have come and is not named, those who accepted included: it is what is seen, not what she did. Whoever is
    named discloses by consent, outside this account. It is no epsilon and is never added to one. Where the model
    accepts with certainty and nobody came, that discloses without bound: the value is then undefined (null), and so it
    is where the nearest are asked first (`recipients: nearest`).

    `interaction_leakage_mean` is over all workers, those never asked included; `interaction_leakage_max` is
    the largest of any worker.
    """

    kind: ClassVar[str] = "interaction_leakage"
    label: ClassVar[str] = "disclosed by offers"
    labels: ClassVar[Mapping[str, str]] = {
        "interaction_leakage_mean": "disclosed by offers, mean",
        "interaction_leakage_max": "disclosed by offers, worst-off worker",
    }
    unit: ClassVar[str] = "nats"
    better: ClassVar[str] = "lower"
    topic: ClassVar[str] = "privacy"

    def measure(self, run: RunFolder) -> dict[str, Measured]:
        """Add up each worker's disclosures, zero for those who made none."""
        import numpy as np

        from geodp.run_folder.folder import number

        disclosed = run.interaction.groupby("worker")["epsilon"].sum().to_numpy(dtype=np.float64)
        everyone = np.zeros(max(run.workers, disclosed.size))
        everyone[: disclosed.size] = disclosed
        largest = float(everyone.max()) if everyone.size else None
        return {"interaction_leakage_mean": mean(everyone), "interaction_leakage_max": Measured(number(largest))}
