"""One record as a file: read and written, also by people."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from harness.memory.record import Kind, Note, Record, Unusable, record_of, text_of
from tests.support.memory import a_note

LINES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=60)


def read(text: str, file: str = "a-file.md") -> Record:
    record = record_of(file, text.encode())
    assert isinstance(record, Record), record
    return record


def why(data: bytes) -> str:
    record = record_of("a.md", data)
    assert isinstance(record, Unusable)
    return record.why


@given(kind=st.sampled_from(Kind), name=LINES, description=LINES, body=st.lists(LINES, min_size=1))
def test_whatever_is_written_is_read_the_same_and_counts_as_ours(
    kind: Kind, name: str, description: str, body: list[str]
) -> None:
    note = Note(
        kind=kind,
        name=name,
        description=description,
        body="\n".join(body),
        made_by="alice~7",
        made_at="2026-01-01T00:00:00Z",
        untrusted="a page",
        replaces=("a.md@12", "b.md@34"),
    )
    record = read(text_of(note))
    assert record.note == note
    assert not record.is_by_hand


def test_a_file_of_mere_text_is_a_note_of_the_person() -> None:
    record = read("# Ports\n\nThe tests want port 5433.\n", "ports.md")
    assert record.note == Note(
        kind=Kind.PROJECT,
        name="ports",
        description="The tests want port 5433.",
        body="# Ports\n\nThe tests want port 5433.",
    )
    assert record.is_by_hand


def test_some_fields_are_enough_and_unknown_ones_do_no_harm() -> None:
    record = read("---\ntype: feedback\nname: short mails\nmood: good\n---\nOne line each.\n")
    assert (record.note.kind, record.note.name) == (Kind.FEEDBACK, "short mails")


def test_an_unknown_type_counts_as_project_and_is_told() -> None:
    record = read("---\ntype: idea\n---\nPorts.\n")
    assert record.note.kind is Kind.PROJECT
    assert "'idea' is no type" in record.warnings[0]


def test_what_a_person_edited_is_theirs() -> None:
    text = text_of(a_note("ports", "Port 1."))
    assert not read(text).is_by_hand
    assert read(text.replace("Port 1.", "Port 2.")).is_by_hand
    assert read(text.replace("type: project", "type: user")).is_by_hand


def test_what_cannot_be_used_says_why() -> None:
    assert "nothing in it" in why(b"")
    assert "nothing in it" in why(b"---\nname: a\n---\n")
    assert "no UTF-8" in why(b"\xff\xfe")
    assert "no line ---" in why(b"---\nname: a\n")
    assert "format 2" in why(b"---\nformat: 2\n---\nbody\n")
    assert "YAML" in why(b"---\nname: [\n---\nbody\n")


def test_two_notes_are_the_same_only_with_the_same_words() -> None:
    note = a_note("ports")
    assert note.seal == replace(note, made_by="bob~1").seal
    assert note.seal != replace(note, body="else").seal
