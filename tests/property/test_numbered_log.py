"""The numbered log against a plain model of its row, under planted records and failing disks."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from coordination.errors import InvalidRecord, StateUnwritable
from coordination.files import StateDirectory
from tests.support.adding_log import PATH, add, adding_log, sealed
from tests.support.faulty_directory import Fault, FaultyDirectory

if TYPE_CHECKING:
    from coordination.numbered_log import NumberedLog

WRITERS = st.sampled_from([0, 1, 2])
AHEAD = st.integers(1, 3)
FAULTS = st.lists(st.sampled_from(list(Fault)), max_size=3)


@dataclass(frozen=True)
class Junk:
    """Something under a number that is no record of this log."""


@dataclass(frozen=True)
class Sealed:
    """A record whose form is right; whether it counts depends on its place."""

    prev: int
    amount: int


@dataclass
class Row:
    """What the rules of the design make of the files under the numbers."""

    files: dict[int, Junk | Sealed]

    def fold(self) -> tuple[int, int, tuple[int, ...]]:
        """The top of the unbroken row, the newest valid number, and the state."""
        top, newest = 0, 0
        state: tuple[int, ...] = ()
        while (entry := self.files.get(top + 1)) is not None:
            top += 1
            if isinstance(entry, Sealed) and entry.prev == newest and entry.amount > 0:
                newest, state = top, (*state, entry.amount)
        return top, newest, state


class LogAgainstRow(RuleBasedStateMachine):
    """Three writers, each with a view of its own that is as old as its last act."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.directories = [FaultyDirectory(self.root) for _ in range(3)]
        self.directories[0].make(PATH)
        self.logs = [adding_log(directory) for directory in self.directories]
        self.row = Row({})

    def teardown(self) -> None:
        for directory in self.directories:
            directory.close()
        shutil.rmtree(self.root)

    @rule(writer=WRITERS, amount=st.integers(1, 9), faults=FAULTS)
    def commit(self, writer: int, amount: int, faults: list[Fault]) -> None:
        self.directories[writer].faults = list(faults)
        state = add(self.logs[writer], amount)
        self.directories[writer].faults = []
        self.write(amount)
        assert state[-1] == amount

    def write(self, amount: int) -> None:
        top, newest, _ = self.row.fold()
        self.row.files[top + 1] = Sealed(prev=newest, amount=amount)

    @rule(writer=WRITERS, amount=st.integers(1, 9))
    def commit_on_a_full_disk(self, writer: int, amount: int) -> None:
        self.directories[writer].faults = [Fault.FULL_DISK] * 5
        with pytest.raises(StateUnwritable):
            add(self.logs[writer], amount)

    @rule(writer=WRITERS)
    def commit_against_the_rules(self, writer: int) -> None:
        with pytest.raises(InvalidRecord):
            add(self.logs[writer], 0)

    @rule(writer=WRITERS, other=WRITERS, amounts=st.tuples(st.integers(1, 9), st.integers(1, 9)))
    @precondition(lambda self: self.row.fold()[0] < 30)
    def lose_a_race(self, writer: int, other: int, amounts: tuple[int, int]) -> None:
        if writer == other:
            return
        asked = 0

        def draft(_state: object, _number: int) -> dict[str, int]:
            nonlocal asked
            asked += 1
            if asked == 1:
                add(self.logs[other], amounts[0])
                self.write(amounts[0])
            return {"add": amounts[1]}

        self.logs[writer].commit(draft)
        self.write(amounts[1])
        assert asked >= 2

    @rule(ahead=AHEAD)
    def plant_junk(self, ahead: int) -> None:
        self.plant(ahead, Junk(), b"junk")

    @rule(ahead=AHEAD, amount=st.integers(-2, 9), back=st.integers(0, 3))
    def plant_a_sealed_record(self, ahead: int, amount: int, back: int) -> None:
        number = self.row.fold()[0] + ahead
        prev = max(0, number - 1 - back)
        self.plant(ahead, Sealed(prev=prev, amount=amount), sealed(amount, number=number, prev=prev))

    def plant(self, ahead: int, entry: Junk | Sealed, data: bytes) -> None:
        number = self.row.fold()[0] + ahead
        if number not in self.row.files:
            (self.root / PATH / f"{number}.json").write_bytes(data)
            self.row.files[number] = entry

    @rule(writer=WRITERS)
    def look(self, writer: int) -> None:
        self.agrees(self.logs[writer])

    @invariant()
    def a_fresh_reader_agrees(self) -> None:
        directory = StateDirectory(self.root)
        reader = adding_log(directory)
        self.agrees(reader)
        assert tuple(record.body["add"] for record in reader.records()) == (reader.state or ())
        directory.close()

    def agrees(self, log: NumberedLog[tuple[int, ...]]) -> None:
        top, newest, state = self.row.fold()
        assert (log.refresh() or ()) == state
        assert log.top == top
        assert (log.newest.number if log.newest else 0) == newest


TestLogAgainstRow = LogAgainstRow.TestCase
TestLogAgainstRow.settings = settings(max_examples=60, stateful_step_count=25)
