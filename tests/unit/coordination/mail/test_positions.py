from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.errors import InvalidRecord
from coordination.mail.lines import Delivery
from coordination.mail.positions import (
    CHECKPOINT_KIND,
    CHECKPOINT_LINES,
    DELIVERY_KIND,
    KNOWN_IDS,
    Positions,
    positions_of,
)
from coordination.records import Message

if TYPE_CHECKING:
    from coordination.team_root import Team


def delivery(number: int, source: str = "alice~2", passed: dict[str, int] | None = None) -> Delivery:
    message = Message(
        id=f"id{number}",
        seq=number,
        type="message",
        sender=source,
        to="bob",
        to_start=1,
        content="x",
        sent_at="",
    )
    return Delivery(
        source=source,
        offset=number * 10,
        end=number * 10 + 9,
        message=message,
        proven=True,
        passed=passed or {},
    )


def journal_line(taken: Delivery) -> dict[str, object]:
    return {"n": 7, "kind": DELIVERY_KIND, "at": "", **taken.to_json()}


def test_a_delivery_survives_its_journal_line() -> None:
    taken = delivery(1, passed={"alice~1": 5})
    assert Delivery.from_json(journal_line(taken)) == taken


@pytest.mark.parametrize("field", ["source", "offset", "end", "proven", "message"])
def test_a_delivery_without_one_of_its_fields_is_invalid(field: str) -> None:
    line = journal_line(delivery(1))
    del line[field]
    with pytest.raises(InvalidRecord):
        Delivery.from_json(line)


def test_the_fold_of_the_journal_is_what_was_taken() -> None:
    positions = Positions()
    taken = [delivery(number, source) for number in range(5) for source in ("alice~2", "carol~2")]
    for one in taken:
        positions.take(one)
    assert Positions.fold(map(journal_line, taken)).to_json() == positions.to_json()


def test_the_fold_begins_at_the_last_checkpoint() -> None:
    before = Positions.fold([journal_line(delivery(1))])
    checkpoint = {"kind": CHECKPOINT_KIND, "positions": before.to_json()}
    after = Positions.fold([journal_line(delivery(9, "zoe~2")), checkpoint, journal_line(delivery(2))])
    assert after.ends == {"alice~2": 29}
    assert after.knows(delivery(1).message)
    assert not after.knows(delivery(9, "zoe~2").message)


def test_the_journal_of_a_process_is_folded_from_the_disk(team: Team) -> None:
    lines = [json.dumps(journal_line(delivery(number))).encode() for number in (1, 2)]
    (team.root / layout.journal("bob~2")).write_bytes(b"\n" + b"\n\n".join(lines) + b'\n\n{"kind": "ma')
    assert positions_of(team.directory, "bob~2").ends == {"alice~2": 29}
    assert positions_of(team.directory, "bob~9").ends == {}


def test_lines_of_other_kinds_do_not_count() -> None:
    assert Positions.fold([{"kind": "user", "content": "x"}, {"kind": DELIVERY_KIND}, {}]).ends == {}


@pytest.mark.parametrize("raw", [None, [], {"ends": {"a": "x"}}, {"ids": {"a": 1}}])
def test_a_damaged_checkpoint_is_invalid(raw: object) -> None:
    with pytest.raises(InvalidRecord):
        Positions.fold([{"kind": CHECKPOINT_KIND, "positions": raw}])


def test_an_id_is_known_over_all_incarnations_of_its_sender_only() -> None:
    positions = Positions()
    positions.take(delivery(1, "alice~2"))
    assert positions.knows(delivery(1, "alice~9").message)
    assert not positions.knows(delivery(1, "carol~2").message)


def test_only_the_last_ids_are_known() -> None:
    positions = Positions()
    for number in range(KNOWN_IDS + 1):
        positions.take(delivery(number))
    known = [positions.knows(delivery(number).message) for number in (0, 1, KNOWN_IDS)]
    assert known == [False, True, True]


def test_lines_that_repeat_are_behind_the_position_of_a_later_delivery() -> None:
    positions = Positions()
    positions.take(delivery(1, passed={"alice~1": 500}))
    assert positions.ends == {"alice~2": 19, "alice~1": 500}


def test_a_checkpoint_is_due_by_lines_and_sources() -> None:
    positions = Positions({f"alice~{number}": 1 for number in range(200)})
    assert (positions.checkpoint_due(1999), positions.checkpoint_due(2000)) == (False, True)
    assert (
        Positions().checkpoint_due(CHECKPOINT_LINES - 1),
        Positions().checkpoint_due(CHECKPOINT_LINES),
    ) == (
        False,
        True,
    )
