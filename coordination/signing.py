"""Which decision answers a question, and which order is one; one rule for writer and reader."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Protocol

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.protocols import LEAD, ORDERS, PERSON, lead_term
from coordination.records import Decision, Request, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Signatures(Protocol):
    """Whose signature counts in a team: `coordination.keys.Keyring`."""

    def check(self, document: Mapping[str, Any], number: int | None, signature: str | None) -> None:
        """Raise InvalidRecord unless the key of this number has signed the document."""
        ...

    def sign(self, document: Mapping[str, Any]) -> tuple[int, str]:
        """The number of this host's key, and its signature."""
        ...


def secret_digest(secret: str) -> str:
    """SHA-256 of the asker's secret, as the question carries it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def decision_document(
    team: str, question: Request, question_digest: str, decision: Decision
) -> dict[str, Any]:
    """What the signature of a decision covers."""
    return {
        "what": "decision",
        "team": team,
        "request": question.id,
        "question": question_digest,
        "asker": question.asker,
        "task": question.task,
        "token": question.token,
        "plan": question.plan,
        "content": question.content_digest,
        "verdict": str(decision.verdict),
        "by": decision.by,
        "reason": decision.reason,
        "term": decision.term,
    }


def order_document(team: str, question: Mapping[str, Any]) -> dict[str, Any]:
    """What the signature of an order, or of the stamp of a new term, covers: all that it says."""
    unsigned = {name: value for name, value in question.items() if name not in {"key", "signature"}}
    return {"what": "order", "team": team, "order": unsigned}


def is_host(who: str) -> bool:
    """True for the person and for a lead, whose word a host signs."""
    return who == PERSON or lead_term(who) is not None


def is_order(question: Request) -> bool:
    """True for what a host asks of a process: to stop, to interrupt its work, to sum up."""
    return is_host(question.asker) and question.kind in ORDERS


def verify(
    team: str, question: Request, question_digest: str, decision: Decision, signatures: Signatures
) -> None:
    """Raise InvalidRecord unless the decision is one that may answer the question.

    A pure function of these and of the keys up to the one that it names, so that an answer that counted
    once counts for ever.
    """
    if decision.request_digest != question_digest:
        raise InvalidRecord(why="it answers another question than the one asked")
    if decision.term < question.term:
        raise InvalidRecord(why=f"its term {decision.term} is older than the question's, {question.term}")
    if decision.verdict is Verdict.WITHDRAW:
        _verify_withdrawal(question, decision)
    elif not _may_decide(question.reviewer)(question, decision):
        raise InvalidRecord(why=f"{decision.by} may not decide it, {question.reviewer} may")
    elif is_host(decision.by):
        document = decision_document(team, question, question_digest, decision)
        signatures.check(document, decision.key, decision.signature)


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
