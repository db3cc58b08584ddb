"""The steps that every kind of publication shares, in the order that keeps people safe.

Check the request, read the private data, settle the public inputs, rehearse without data, open the files, ask the
ledger, and only then draw noise and write. Up to the ledger's answer nothing is charged; from then on the charge
stays, whatever happens: noise that may have been drawn is paid for.
"""

from __future__ import annotations

import logging
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from geodp.errors import BudgetSpent, GeodpError, NotReleasable, OutputError, UsageError
from geodp.flows.design import USUAL_DELTA
from geodp.geometry import Region
from geodp.privacy.ledger import ANY_TIME, Account, Ledger, chargeable
from geodp.privacy.ledger_file import LedgerFile
from geodp.privacy.noise import Noise, SimulatedNoise, noise_source, require_releasable
from geodp.public.guarantee import Guarantee
from geodp.publish.outputs import PublishedTable, write_table
from geodp.publish.request import NOTHING_DONE, PublicInputs, Request, explain_nothing_done
from geodp.publish.staging import Staging, put_right
from geodp.publish.statement import Accuracy, Spent, Statement, say_spent
from geodp.registry import plugins
from geodp.storage.files import write_text_whole
from geodp.tables.notices import gather_notices, silence_notices
from geodp.tables.progress import tell_progress

if TYPE_CHECKING:
    from geodp.curator.publications import Publication
    from geodp.display.page import Page

log = logging.getLogger("geodp")
T = TypeVar("T")
_NOT_SAID = "something went wrong. What it was may follow from private data: --mode simulate tells it."


@dataclass(frozen=True, eq=False)
class Product:
    """Noisy data, ready to be written; `releasable` says where their noise came from."""

    table: PublishedTable
    accuracy: Accuracy
    releasable: bool
    draw_map: Callable[[Page], None]
    """Draws what was published (and nothing else) on a page."""


class PublishPlan(ABC):
    """One publication, read and checked: what it promises, and how it is drawn."""

    mechanism: str
    """Kind of the mechanism."""
    fields: dict[str, object]
    """Its settings, all public."""
    region: Region
    guarantee: Guarantee
    """What is promised about one unit (a report, a person)."""
    per_person: Guarantee
    """What it costs each person, hence what the ledger is asked for."""
    parts: Mapping[str, float] = MappingProxyType({})
    """Parts of ε that the ledger shows one by one, with ε of each."""
    together: str = ""
    """Says what is promised about all rows of one person, where that differs from one unit."""
    not_hidden: tuple[str, ...] = ()
    """What the output shows on purpose."""
    remarks: tuple[str, ...] = ()
    """Facts about the private data, told when simulating only."""
    forecast: str = ""
    """What the release will cost and can show, from public settings alone: told before anything is charged."""

    @abstractmethod
    def rehearse(self, noise: Noise) -> None:
        """Go through the motions on no data at all: whatever is wrong with the settings fails here, free of charge."""

    @abstractmethod
    def draw(self, noise: Noise) -> Product:
        """Draw the noise; called once, after the ledger has agreed."""


class PublicationPlan(PublishPlan):
    """A plan whose method is one of the curator's publications, which says itself what it promises and costs."""

    def __init__(self, method: Publication, region: Region, remarks: tuple[str, ...] = ()) -> None:
        self.mechanism = method.kind
        self.fields = method.settings_in_force()
        self.region, self.remarks = region, remarks
        self.guarantee, self.per_person = method.guarantee(), method.cost()
        self.parts, self.together = method.parts(), method.together()


Prepare = Callable[[Request, PublicInputs], PublishPlan]
"""How a kind reads the private data, settles the public inputs and plans the publication."""


@dataclass(frozen=True)
class PublishResult:
    """What was done, in words and as files."""

    text: str
    files: tuple[Path, ...]
    statement: Statement
    warnings: tuple[str, ...] = field(default=())


def publish(request: Request, prepare: Prepare) -> PublishResult:
    """Publish what a kind prepares, or change nothing but (from the ledger's yes on) the ledger."""
    if request.releasing:
        # Nothing is said and nothing is guessed, by libraries neither: it would follow from private data.
        with silence_notices(), warnings.catch_warnings(action="ignore"):
            return _publish(request, prepare)
    with gather_notices() as noticed:
        outcome = _publish(request, prepare)
    return replace(outcome, warnings=(*outcome.warnings, *noticed))


def _publish(request: Request, prepare: Prepare) -> PublishResult:
    put_right(request.out, request.guarantee_path)
    request.check()
    noise = noise_source(request.mode, seed=request.seed)
    if request.releasing:
        require_releasable(noise, str(request.out))
    inputs = PublicInputs(request.releasing)
    plan = _prepare_plan(request, inputs, prepare)
    guarantee, per_person = inputs.honest(plan.guarantee), inputs.honest(plan.per_person)
    if request.releasing and not guarantee.holds:
        raise NotReleasable(
            f"{plan.mechanism} as asked for promises nothing that holds ({guarantee.why_not}), so it is for simulation "
            f"only. {NOTHING_DONE}"
        )
    # On no data, simulated noise stands for the real one and costs no draws of it.
    plan.rehearse(SimulatedNoise(np.random.default_rng(0), releasable=noise.releasable, mode=noise.mode))
    if plan.forecast:
        log.info("%s", plan.forecast)
    with Staging(request.out, request.guarantee_path, force=request.force) as files:
        spent = _charge(request, plan, chargeable(guarantee, per_person))
        tell_progress("working out", 0.0)
        product = _after_the_charge(lambda: plan.draw(noise), request, spent)
        statement = Statement(
            request=request,
            plan=plan,
            inputs=inputs,
            guarantee=guarantee,
            per_person=per_person,
            product=product,
            spent=spent,
        )
        tell_progress("writing", 0.0)
        _after_the_charge(lambda: write_product(product, statement, files), request, spent)
    if request.map is not None:
        tell_progress("map", 0.0)
        _write_map(request.map, plan, product, statement)
    written = tuple(path for path in (request.out, request.guarantee_path, request.map) if path is not None)
    text = statement.text(written, () if request.releasing else plan.remarks)
    return PublishResult(text, written, statement, tuple(filter(None, [*inputs.warnings, request.old_ledger])))


def _prepare_plan(request: Request, inputs: PublicInputs, prepare: Prepare) -> PublishPlan:
    """Read and check; what goes wrong unforeseen is not said in a release."""
    try:
        with explain_nothing_done():
            return prepare(request, inputs)
    except GeodpError:
        raise
    except Exception:
        if not request.releasing:
            raise
        raise GeodpError(f"{request.source.name}: {_NOT_SAID} {NOTHING_DONE}") from None


def write_product(product: Product, statement: Statement, files: Staging) -> None:
    """Write the output and its guarantee; simulated noise never leaves as a release."""
    request = statement.request
    if request.releasing and not product.releasable:
        raise NotReleasable(
            f"{request.out} was made with simulated noise, which is predictable from the seed and leaks through "
            "floating point: it must not be published as a release."
        )
    write_table(files.partial(request.out), product.table, suffix_of=request.out, stamp=statement.stamp())
    statement.write(files.partial(request.guarantee_path), files.partial(request.out))
    files.commit()


def _charge(request: Request, plan: PublishPlan, asked: tuple[Guarantee, Account] | None) -> Spent | None:
    """Ask the ledger; when this returns, the charge is on the disk. What promises nothing has nothing to charge."""
    if asked is None:
        return None
    (promise, account), path = asked, request.ledger_path
    scope = "everyone" if request.releasing else "everyone, simulated"
    try:
        concentrated = request.concentrated
        if concentrated is not None and account is not Account.CENTRAL:
            raise UsageError(
                f"a budget of rho, or of epsilon at a delta, is for the central account, not the {account} account: "
                f"give --budget alone. {NOTHING_DONE}"
            )
        pure = None if concentrated is not None else request.budget
        file = LedgerFile(path, budget_epsilon=pure, account=account, concentrated=concentrated)
        with file.open_ledger() as ledger:
            if request.releasing:
                _refuse_second(plan.mechanism, scope, ledger, path)
            row = ledger.charge(
                promise,
                time_s=time.time(),
                mechanism=plan.mechanism,
                scope=scope,
                account=account,
                parts=plan.parts,
                period=ANY_TIME,  # no public setting says of which time the data are
            )
            left = ledger.find_remaining(account, period=ANY_TIME)
            said = None
            if any(each.rho is not None for each in ledger.charges):
                delta = max(row.delta, USUAL_DELTA)
                said = say_spent(ledger.state_spent(delta), ledger.find_rho(), delta)
            return Spent(path=path, account=account, charged=row.epsilon, total=row.total, remaining=left, by_days=said)
    except OutputError as error:
        hint = "" if request.ledger is not None else f" Name a ledger elsewhere: --ledger FILE. {NOTHING_DONE}"
        raise OutputError(f"{error}{hint}") from error
    except BudgetSpent as short:
        raise BudgetSpent(
            short.requested,
            short.remaining,
            what="ε per metre" if account is Account.METRIC else short.what,
            advice=f"{short.advice} {NOTHING_DONE}",
        ) from None


def _refuse_second(mechanism: str, scope: str, ledger: Ledger, path: Path) -> None:
    """Refuse to publish once more what composes with nothing, not with itself."""
    cls = plugins("publication").get(mechanism)
    if getattr(cls, "one_off", False) and any(
        row.mechanism == mechanism and row.scope == scope for row in ledger.charges
    ):
        raise UsageError(
            f"{path}: {mechanism} was published about these people before, and two of them may tell more than both "
            f"promise. Publish counts that add up (laplace_counts), or of other people. {NOTHING_DONE}"
        )


def _after_the_charge(step: Callable[[], T], request: Request, spent: Spent | None) -> T:
    """Run a step whose failure leaves the charge standing, and say so."""
    stays = (
        ""
        if spent is None
        else f"\nThe charge of ε = {spent.charged:g} stays in {spent.path}, since noise may have been drawn."
    )
    try:
        return step()
    except OSError as error:
        raise OutputError(
            f"{request.out}: could not be written ({error.strerror or error}); no part of it was left behind.{stays}"
        ) from error
    except NotReleasable:
        raise
    except Exception as error:
        if request.releasing:
            raise GeodpError(f"{request.out}: nothing was written: {_NOT_SAID}{stays}") from None
        raise GeodpError(f"{request.out}: nothing was written: {str(error) or type(error).__name__}{stays}") from error
    except BaseException:
        if stays:
            log.warning("%s: interrupted.%s", request.out, stays)
        raise


def _write_map(path: Path, plan: PublishPlan, product: Product, statement: Statement) -> None:
    from geodp.publish.released_map import draw_released_map

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text_whole(path, draw_released_map(plan.region, product.draw_map, statement))
    except Exception as error:
        raise OutputError(f"{statement.request.out} was published, but its map was not written: {error}") from error
