from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from coordination.errors import InvalidRecord
from coordination.mail.lines import LINE_BYTES, Line, is_one_call, parse, split_source, take_lines

README = Path(__file__).parents[4] / "mailboxes/README.md"


def line(text: bytes) -> Line:
    return Line(offset=0, end=len(text), text=text)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("alice~7", ("alice", 7)),
        ("lead~3", ("lead", 3)),
        ("person~laptop.local", ("person", 0)),
        ("alice", None),
        ("alice~x", None),
        ("~7", None),
        ("person~", None),
        ("../x~1", None),
        (".tmp~host~1", None),
    ],
)
def test_a_file_is_named_after_its_sender(source: str, parts: tuple[str, int] | None) -> None:
    assert split_source(source) == parts


def test_a_file_by_hand_may_grow_and_that_of_a_call_does_not() -> None:
    assert [is_one_call(source) for source in ("person~laptop", "person~laptop-0123456789ab")] == [
        False,
        True,
    ]


def test_lines_carry_their_places() -> None:
    lines, rest = take_lines(b"\none\n\ntwo\ntor", 100, by_hand=False)
    assert [(found.offset, found.end, found.text) for found in lines] == [
        (101, 105, b"one"),
        (106, 110, b"two"),
    ]
    assert rest == 110


def test_a_line_without_end_is_taken_in_pieces() -> None:
    assert take_lines(b"x" * LINE_BYTES, 5, by_hand=False) == (
        [Line(offset=5, end=5 + LINE_BYTES, text=b"")],
        5 + LINE_BYTES,
    )


def test_the_example_in_the_readme_is_a_message() -> None:
    example = re.findall(r"```json\n(.*?)\n```", README.read_text(encoding="utf-8"), re.DOTALL)[0]
    message = parse(line(example.encode()), source="lead~3", to="alice", start=5)
    assert message.content == "please look at the parser first"


def test_fields_of_a_later_format_are_kept() -> None:
    later = {"importance": "high", "unknown": {"from": "lead~1"}}
    message = parse(line(b'{"content": "x"}'), source="person~laptop", to="bob", start=1)
    text = msgspec.json.encode(message.to_json() | later)
    again = parse(line(text), source="person~laptop", to="bob", start=1)
    assert again.to_json() == message.to_json() | later
    assert again.encode() == text


def test_a_person_may_name_itself_but_nobody_else() -> None:
    text = b'{"content": "x", "from": "person"}'
    assert parse(line(text), source="person~laptop", to="bob", start=1).sender == "person~laptop"
    whole = parse(line(text), source="person~laptop", to="bob", start=1).to_json() | {"from": "person"}
    with pytest.raises(InvalidRecord, match="claims to be from person"):
        parse(line(msgspec.json.encode(whole)), source="alice~2", to="bob", start=1)
