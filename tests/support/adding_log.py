"""A small numbered log for tests: each record adds a positive number to a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordination.errors import InvalidRecord
from coordination.numbered_log import NumberedLog, Record, pretty, seal

if TYPE_CHECKING:
    from coordination.files import StateDirectory

PATH = ".team/adding"
NAME = "adding/test"


class AddingRules:
    """The state is the tuple of what was added, in order."""

    def check(self, state: tuple[int, ...] | None, record: Record) -> None:  # noqa: ARG002 - the protocol
        added = record.body.get("add")
        if not isinstance(added, int) or added <= 0:
            raise InvalidRecord(why="adds nothing")

    def apply(self, state: tuple[int, ...] | None, record: Record) -> tuple[int, ...]:
        return (*(state or ()), record.body["add"])


def adding_log(directory: StateDirectory) -> NumberedLog[tuple[int, ...]]:
    return NumberedLog(directory, PATH, name=NAME, rules=AddingRules())


def add(log: NumberedLog[tuple[int, ...]], amount: int) -> tuple[int, ...]:
    return log.commit(lambda _state, _number: {"add": amount})


def sealed(amount: int, *, number: int, prev: int, name: str = NAME, **envelope: Any) -> bytes:
    """The bytes of a record that somebody made without the log."""
    return pretty(seal(name, {"add": amount}, number=number, prev=prev, commit_id=f"c{number}") | envelope)
