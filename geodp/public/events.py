"""Words of what happens in a run: kinds of event, reasons, and notes on plans; one vocabulary for everybody."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """Kinds of event, with the meaning of their columns."""

    RELEASE = "release"
    """The curator published, or phones reported, or neither; value = epsilon charged (per metre for reports)."""
    TASK_ARRIVED = "task_arrived"
    """x_m, y_m = the task's place."""
    OFFER = "offer"
    """An offer is broadcast; x_m, y_m = the task's place, value = radius in metres (null: a region, or names)."""
    REFUSAL = "refusal"
    """A notified worker says no; x_m, y_m = the worker's place, value = distance to the task."""
    ACCEPTANCE = "acceptance"
    """A worker says yes; x_m, y_m = the worker's place, value = distance to the task."""
    DEPARTURE = "departure"
    """The chosen worker sets out; x_m, y_m = from where, value = reward promised."""
    COMPLETION = "completion"
    """The task is done; x_m, y_m = the task's place, value = distance travelled."""
    EXPIRY = "expiry"
    """The task is given up; value = what was paid all the same (called off after somebody accepted)."""
    UNREACHABLE = "unreachable"
    """The server makes no offer; value = radius its model asks for (null when none suffices)."""
    CENSORED = "censored"
    """Undecided when the run ends; counted, and left out of success rates."""


class Reason(StrEnum):
    """Why it happened: the fixed vocabulary of the column `reason`."""

    NONE = ""
    # release
    REUSED_LAST = "budget_spent_last_release_reused"
    STOPPED = "budget_spent_releases_stopped"
    PREDICTED = "predicted_from_earlier_releases"
    # refusal
    UNWILLING = "unwilling"
    TOO_FAR = "beyond_max_travel"
    BUSY = "busy"
    LOW_REWARD = "reward_below_minimum"
    MUTED = "muted_by_lot"
    SPENT = "considered_enough_tasks"
    # acceptance
    PICKED = "picked"
    NOT_PICKED = "not_picked"
    TAKEN = "took_another_task"
    # expiry
    NO_ACCEPTANCE = "no_acceptance"
    NOBODY_NOTIFIED = "nobody_in_circle"
    NOBODY_IN_REGION = "nobody_in_region"
    SHORT_OF_TARGET = "no_acceptance_region_short_of_target"
    ACCEPTORS_GONE = "acceptors_took_other_tasks"
    TOO_FEW = "too_few_acceptances"
    CALLED_OFF = "called_off_after_acceptance"
    OUT_OF_PATIENCE = "patience_ran_out"
    # unreachable
    BEYOND_REACH = "target_needs_more_than_max_travel"
    NO_RADIUS = "no_radius_reaches_target"
    PURSE_EMPTY = "reward_exhausted"
    NO_RELEASE = "no_release_to_plan_from"
    BAD_RADIUS = "solver_gave_no_usable_radius"
    CROWDED = "too_many_tasks_in_its_square_kilometre"
    FEW_PEOPLE = "too_few_people_within_reach"
    # censored
    RUN_ENDED = "undecided_at_end"


REGION_FAILURES = (
    Reason.NO_ACCEPTANCE,
    Reason.SHORT_OF_TARGET,
    Reason.ACCEPTORS_GONE,
    Reason.TOO_FEW,
    Reason.NOBODY_IN_REGION,
    Reason.OUT_OF_PATIENCE,
    Reason.BEYOND_REACH,
    Reason.PURSE_EMPTY,
    Reason.NO_RELEASE,
)
"""Why a task offered to a region of cells, or one that could not be offered to any, may fail."""


class Note(StrEnum):
    """Oddities of a plan, to be counted and never hidden."""

    NEGATIVE_RADIUS = "negative_radius"
    UNDER_ONE_WORKER = "under_one_worker"
    CAPPED = "recipients_capped"
    SHORT_OF_TARGET = "short_of_target"
    MOSTLY_NOISE = "counts_mostly_noise"
