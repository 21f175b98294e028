"""Which decision may answer which question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from coordination.errors import InvalidRecord
from coordination.records import Decision, Request, Verdict
from coordination.signing import Signatures, decision_document, secret_digest
from coordination.signing import verify as verify_signed

if TYPE_CHECKING:
    from collections.abc import Mapping

QUESTION = Request(
    id="req_00000001",
    kind="plan",
    asker="alice~2",
    subject="alice",
    reviewer="lead",
    secret_digest=secret_digest("open sesame"),
    term=3,
)


class Notary:
    """Knows one key, 1, whose signature is the text of what it covers."""

    def sign(self, document: Mapping[str, Any]) -> tuple[int, str]:
        return 1, str(document)

    def check(self, document: Mapping[str, Any], number: int | None, signature: str | None) -> None:
        if (number, signature) != self.sign(document):
            raise InvalidRecord(why="forged")


NOTARY: Signatures = Notary()


def signed(asked: Request, digest: str, made: Decision) -> Decision:
    key, signature = NOTARY.sign(decision_document("team_1", asked, digest, made))
    return msgspec.structs.replace(made, key=key, signature=signature)


def verify(asked: Request, digest: str, made: Decision) -> None:
    """As it is where whoever decides has signed."""
    verify_signed("team_1", asked, digest, signed(asked, digest, made), NOTARY)


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


@pytest.mark.parametrize("by", ["lead~3", "person"])
@pytest.mark.parametrize("forged", [{"signature": None}, {"key": None}, {"key": 2}, {"signature": "ab"}])
def test_without_a_signature_that_fits_the_word_of_a_host_does_not_count(
    by: str, forged: dict[str, object]
) -> None:
    made = msgspec.structs.replace(signed(QUESTION, "digest", decision(by)), **forged)
    with pytest.raises(InvalidRecord, match="forged"):
        verify_signed("team_1", QUESTION, "digest", made, NOTARY)


@pytest.mark.parametrize(
    "changed", [{"verdict": Verdict.DENY}, {"by": "person"}, {"reason": "other"}, {"term": 4, "by": "lead~4"}]
)
def test_a_signature_covers_all_that_a_decision_says(changed: dict[str, object]) -> None:
    made = msgspec.structs.replace(signed(QUESTION, "digest", decision("lead~3")), **changed)
    with pytest.raises(InvalidRecord, match="forged"):
        verify_signed("team_1", QUESTION, "digest", made, NOTARY)


@pytest.mark.parametrize(
    "other",
    [
        {"id": "req_00000002"},
        {"asker": "bob~2"},
        {"asker": "alice~3"},
        {"task": "task_00000002"},
        {"token": 9},
        {"plan": 2},
        {"content_digest": "other"},
    ],
)
def test_a_decision_is_good_for_one_question_of_one_assignment_only(other: dict[str, object]) -> None:
    made = signed(QUESTION, "digest", decision("lead~3"))
    with pytest.raises(InvalidRecord, match="forged"):
        verify_signed("team_1", msgspec.structs.replace(QUESTION, **other), "digest", made, NOTARY)
    with pytest.raises(InvalidRecord, match="forged"):
        verify_signed("team_2", QUESTION, "digest", made, NOTARY)


def test_a_member_answers_what_it_was_asked_without_a_key() -> None:
    verify_signed("team_1", question("alice~2"), "digest", decision("alice~2"), NOTARY)


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
