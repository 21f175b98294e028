"""Which decision may answer which question."""

from __future__ import annotations

import msgspec
import pytest

from coordination.errors import InvalidRecord
from coordination.records import Decision, Request, Verdict
from coordination.signing import secret_digest, verify

QUESTION = Request(
    id="req_00000001",
    kind="plan",
    asker="alice~2",
    subject="alice",
    reviewer="lead",
    secret_digest=secret_digest("open sesame"),
    term=3,
)


def question(reviewer: str) -> Request:
    return msgspec.structs.replace(QUESTION, reviewer=reviewer)


def decision(by: str, verdict: Verdict = Verdict.APPROVE, **fields: object) -> Decision:
    return msgspec.structs.replace(
        Decision(verdict=verdict, by=by, request_digest="digest", term=3), **fields
    )


ALLOWED = [
    ("lead", "lead~3", 3),
    ("lead", "lead~4", 4),
    ("lead", "person", 3),
    ("person", "person", 3),
    ("alice~2", "alice~2", 3),
    ("alice", "alice~2", 3),
    ("alice", "alice~9", 3),
]
REFUSED = [
    ("lead", "lead~2", 2),  # an earlier term
    ("lead", "lead~2", 3),  # says a later term than its own
    ("lead", "lead~9", 3),
    ("lead", "lead", 3),
    ("lead", "alice~2", 3),
    ("lead", "lead~3~1", 3),
    ("person", "lead~3", 3),
    ("person", "alice~2", 3),
    ("person", "person~host", 3),
    ("person", "Person", 3),
    ("alice~2", "bob~2", 3),
    ("alice~2", "alice~3", 3),
    ("alice~2", "person", 3),
    ("alice", "alice", 3),
    ("alice", "bob~2", 3),
    ("", "", 3),
]


@pytest.mark.parametrize(("reviewer", "by", "term"), ALLOWED)
@pytest.mark.parametrize("verdict", [Verdict.APPROVE, Verdict.DENY])
def test_the_reviewer_decides(reviewer: str, by: str, term: int, verdict: Verdict) -> None:
    verify(question(reviewer), "digest", decision(by, verdict, term=term))


@pytest.mark.parametrize(("reviewer", "by", "term"), REFUSED)
@pytest.mark.parametrize("verdict", [Verdict.APPROVE, Verdict.DENY])
def test_nobody_else_decides(reviewer: str, by: str, term: int, verdict: Verdict) -> None:
    with pytest.raises(InvalidRecord):
        verify(question(reviewer), "digest", decision(by, verdict, term=term))


def test_a_decision_about_another_text_does_not_count() -> None:
    with pytest.raises(InvalidRecord, match="another question"):
        verify(QUESTION, "another digest", decision("lead~3"))


@pytest.mark.parametrize("forged", [{"signature": "c2lnbmVk"}, {"key": 1}])
def test_a_signature_that_cannot_be_checked_does_not_count(forged: dict[str, object]) -> None:
    with pytest.raises(InvalidRecord, match="key"):
        verify(QUESTION, "digest", msgspec.structs.replace(decision("lead~3"), **forged))


def test_the_asker_withdraws_with_its_secret() -> None:
    verify(QUESTION, "digest", decision("alice~2", Verdict.WITHDRAW, secret="open sesame"))


@pytest.mark.parametrize(
    ("by", "secret"),
    [
        ("alice~2", None),
        ("alice~2", ""),
        ("alice~2", "guess"),
        ("alice~3", "open sesame"),
        ("lead~3", "open sesame"),
        ("person", "open sesame"),
    ],
)
def test_nobody_withdraws_a_question_of_another(by: str, secret: str | None) -> None:
    with pytest.raises(InvalidRecord):
        verify(QUESTION, "digest", decision(by, Verdict.WITHDRAW, secret=secret))


def test_a_question_without_a_secret_cannot_be_withdrawn() -> None:
    bare = msgspec.structs.replace(QUESTION, secret_digest="")
    with pytest.raises(InvalidRecord):
        verify(bare, "digest", decision("alice~2", Verdict.WITHDRAW, secret=""))
