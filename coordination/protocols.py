"""Who may ask, answer and go on: the plan gate, reviews, shutdowns and terms as pure decisions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from coordination.errors import TeamError
from coordination.records import Decision, PlanState, Request, Status, Task, Verdict

if TYPE_CHECKING:
    from coordination.records import Plan

LEAD = "lead"
PERSON = "person"
ANSWER = "an answer of "  # how what a member waits for begins that asked somebody
_LEAD_BEARER = re.compile(r"lead~([0-9]+)")


def answer_of(name: str) -> str:
    """What somebody waits for who asked `name`, as the roster says it."""
    return ANSWER + ("the lead" if name == LEAD else name)


class Kind(StrEnum):
    """What a question is about."""

    PLAN = "plan"
    SHUTDOWN = "shutdown"
    INTERRUPT = "interrupt"
    COMPACT = "compact"
    PERMISSION = "permission"
    PROPOSAL = "proposal"


ORDERS = frozenset({Kind.SHUTDOWN, Kind.INTERRUPT, Kind.COMPACT})  # which a host signs


@dataclass(eq=False)
class TermOver(TeamError):
    """A lead tried to write after another took the next term."""

    term: int
    present: int
    says = "term {term} of leadership is over, {present} is the present one; this lead has to stop"


class Asked(Protocol):
    """A question with the answer it has so far."""

    @property
    def question(self) -> Request: ...

    @property
    def answer(self) -> Decision | None: ...


def lead_term(bearer: str) -> int | None:
    """The term of `lead~3`; None for anybody else."""
    match = _LEAD_BEARER.fullmatch(bearer)
    return int(match[1]) if match else None


def term_to_write(actor: str, known: int, seen: int) -> int:
    """The term that a record by `actor` carries where the log has seen the term `seen`.

    A lead writes its own and raises TermOver when that is over; others follow the highest they know.
    """
    own, present = lead_term(actor), max(known, seen)
    if own is not None and own < present:
        raise TermOver(term=own, present=present)
    return present if own is None else own


def plan_state(
    required: bool,  # noqa: FBT001 - the first word of the question
    plan: Plan | None,
    asked: Asked | None,
    *,
    asker_present: bool = True,
) -> PlanState:
    """Where the gate of a worker stands, given the task's plan and the question that the plan names.

    An answer counts only for the very plan it was asked about. A question whose asker is gone
    counts as withdrawn unless it was answered before.
    """
    if not required:
        return PlanState.NOT_REQUIRED
    if plan is None or asked is None or not _is_about(asked.question, plan):
        return PlanState.REQUIRED
    if asked.answer is None:
        return PlanState.PENDING if asker_present else PlanState.REQUIRED
    return _PLAN_STATE_AFTER[asked.answer.verdict]


_PLAN_STATE_AFTER = {
    Verdict.APPROVE: PlanState.APPROVED,
    Verdict.DENY: PlanState.REJECTED,
    Verdict.WITHDRAW: PlanState.REQUIRED,
}


def review_refusal(
    question: Request, task: Task, *, answer: Decision | None = None, asker_present: bool = True
) -> str | None:
    """Why a plan cannot be reviewed (any more), as a sentence; None when it can.

    A resumed task keeps its plan under a new token, so the plan that the task names is current
    whatever token it was asked under.
    """
    if question.kind != Kind.PLAN or question.task != task.id:
        return f"{question.id} is not a plan for {task.id}"
    if answer is not None:
        return f"{question.id} was already decided: {answer.verdict} by {answer.by}"
    if not asker_present:
        return f"{question.asker} is gone, and its question {question.id} with it"
    return _assignment_refusal(question, task)


def _assignment_refusal(question: Request, task: Task) -> str | None:
    if task.status is Status.IN_PROGRESS and task.plan and _is_about(question, task.plan):
        return None
    if task.status is not Status.IN_PROGRESS or question.token != task.token:
        return f"{question.id} belongs to an earlier assignment of {task.id}, which is now {task.status}"
    return f"{question.id} is not the current plan of {task.id}"


def _is_about(question: Request, plan: Plan) -> bool:
    asked = (question.kind, question.id, question.plan, question.content_digest)
    return asked == (Kind.PLAN, plan.request, plan.number, plan.digest)


def order_refusal(order: Request, *, present_term: int) -> str | None:
    """Why whoever it is put to does not obey; None when it has to.

    Only the present lead and the person give orders, and only a question on disk is one, never the
    mail that speaks of it.
    """
    if order.asker != PERSON and lead_term(order.asker) != present_term:
        return f"{order.id} was asked by {order.asker}, not by the present lead or the person"
    return None
