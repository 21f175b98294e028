"""Which decision counts as the answer to a question; one rule for writer and reader."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.protocols import LEAD, PERSON, lead_term
from coordination.records import Decision, Request, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable


def secret_digest(secret: str) -> str:
    """SHA-256 of the asker's secret, as the question carries it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def verify(question: Request, question_digest: str, decision: Decision) -> None:
    """Raise InvalidRecord unless the decision is one that may answer the question.

    A pure function of the two, so that an answer that counted once counts for ever.
    """
    if decision.request_digest != question_digest:
        raise InvalidRecord(why="it answers another question than the one asked")
    if decision.term < question.term:
        raise InvalidRecord(why=f"its term {decision.term} is older than the question's, {question.term}")
    if decision.signature is not None or decision.key is not None:
        raise InvalidRecord(why="it is signed with a key that the team does not know")
    if decision.verdict is Verdict.WITHDRAW:
        _verify_withdrawal(question, decision)
    elif not _may_decide(question.reviewer)(question, decision):
        raise InvalidRecord(why=f"{decision.by} may not decide it, {question.reviewer} may")


def _verify_withdrawal(question: Request, decision: Decision) -> None:
    if decision.by != question.asker:
        raise InvalidRecord(why=f"only {question.asker} may withdraw it")
    if decision.secret is None or secret_digest(decision.secret) != question.secret_digest:
        raise InvalidRecord(why="the withdrawal does not show the asker's secret")


def _may_decide(reviewer: str) -> Callable[[Request, Decision], bool]:
    return {PERSON: _by_person, LEAD: _by_lead_or_person}.get(reviewer, _by_member)


def _by_person(_: Request, decision: Decision) -> bool:
    return decision.by == PERSON


def _by_lead_or_person(_: Request, decision: Decision) -> bool:
    return decision.by == PERSON or lead_term(decision.by) == decision.term


def _by_member(question: Request, decision: Decision) -> bool:
    """A question to `alice~7` is answered by that process alone, one to `alice` by any bearer."""
    if layout.split_bearer(question.reviewer):
        return decision.by == question.reviewer
    bearer = layout.split_bearer(decision.by)
    return bearer is not None and bearer[0] == question.reviewer
