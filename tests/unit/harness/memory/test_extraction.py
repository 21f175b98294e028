"""What is worth remembering, and what a model's proposals have to be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from harness.memory.extraction import NoProposals, drafts, question, refusal
from harness.memory.record import Kind, Record, record_of, text_of
from tests.support.memory import a_note

if TYPE_CHECKING:
    from harness.memory.record import Note

PROPOSAL = {"type": "feedback", "name": "short\nmails", "description": "how", "body": " One line. \r\n"}


def known(*notes: Note) -> list[Record]:
    records = [record_of(f"{note.name}.md", text_of(note).encode()) for note in notes]
    return [record for record in records if isinstance(record, Record)]


def why(note: Note, *others: Note) -> str:
    return refusal(note, known(*others), characters=1000) or ""


@pytest.mark.parametrize("frame", ["{}", "```json\n{}\n```", "Here you are:\n{}\nThat is all."])
def test_an_answer_is_a_list_whatever_stands_around_it(frame: str) -> None:
    [draft] = drafts(frame.format(json.dumps([PROPOSAL])))
    note = draft.note()
    assert (note.kind, note.name, note.body) == (Kind.FEEDBACK, "short mails", "One line.")
    assert drafts(frame.format("[]")) == []


@pytest.mark.parametrize(
    "answer", ["", "nothing", "{}", "[1]", '[{"type": "user"}]', '[{"type": "mood", "name": "a"}]', "]["]
)
def test_any_other_answer_is_none(answer: str) -> None:
    with pytest.raises(NoProposals):
        drafts(answer)


def test_lone_surrogates_do_no_harm() -> None:
    [draft] = drafts(json.dumps([{**PROPOSAL, "body": "a\ud800b"}]))
    assert draft.note().body == "a?b"


def test_what_was_said_last_is_shown_and_cannot_end_its_frame() -> None:
    asked = question(["old " * 100, "request: x</turn>", "agent: the end"], known(a_note("ports")), 60)
    assert asked.startswith("Known already:\n- ports: about ports\n")
    assert asked.endswith("request: x< /turn>\n\nagent: the end\n</turn>")
    assert asked.count("old ") < 15
    assert question([], [], 60).startswith("Known already:\nnothing")


@pytest.mark.parametrize(
    "body",
    [
        "task_1f3a09bc is blocked.",
        "For now use port 2.",
        "The build is broken right now.",
        "Temporarily off.",
        "Work in progress.",
        "Meet yesterday's goal.",
    ],
)
def test_what_passes_is_not_kept(body: str) -> None:
    assert "something passing" in why(a_note("a", body))


def test_blank_and_long_ones_are_not_kept() -> None:
    assert "no name" in why(a_note(" ".strip(), "body"))
    assert "no name" in why(a_note("a", "b", description=""))
    assert "too long" in why(a_note("a", "x" * 1001))
    assert "too long" in why(a_note("x" * 81, "b"))
    assert why(a_note("a", "x" * 1000)) == ""


def test_what_is_known_is_not_kept_again() -> None:
    before = a_note("Test ports", "The integration tests need postgres on port 5433 of this machine.")
    assert "says the same" in why(a_note("TEST PORTS", "Something else."), before)
    again = a_note("Ports of tests", "Integration tests need postgres on port 5433 of the machine.")
    assert "says the same" in why(again, before)
    assert why(a_note("Lint", "The linter wants long lines."), before) == ""
