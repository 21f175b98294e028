"""Receiving mail: what is new from all senders, in order, each message once."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coordination import layout
from coordination.append_file import AppendFile
from coordination.errors import InvalidRecord, NotRegularFile, StateUnwritable, cause_of
from coordination.mail.bearers import Bearers
from coordination.mail.lines import (
    LINE_BYTES,
    Delivery,
    Line,
    is_one_call,
    is_person,
    known_as,
    parse,
    sender_name,
    split_source,
    take_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from coordination.mail.positions import Positions
    from coordination.roster import Roster
    from coordination.team_root import Team

LINES_A_STEP = 2000
SWEEP_SECONDS = 10.0  # between looks at senders that are over or not on record
UNKNOWN_SECONDS = 60.0  # until a sender that is not on record is reported

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class MailProblem:
    """Something in a mailbox that is no mail; it holds nothing else up."""

    source: str  # the file's name in the box, without its ending
    offset: int
    why: str


@dataclass(kw_only=True)
class _Step:
    """One reading of the whole box."""

    left: int  # lines
    cut: str | None = None  # name of the first sender whose lines did not all fit
    deliveries: list[Delivery] = field(default_factory=list)
    ids: set[tuple[str, str]] = field(default_factory=set)  # sender's name and id
    bad: set[str] = field(default_factory=set)  # sources of which one bad line is reported
    begun: set[str] = field(default_factory=set)  # sources of which all that is handed out comes first
    read_out: set[str] = field(default_factory=set)  # sources without anything new


class Inbox:
    """The mail of one incarnation of a name. An object belongs to one thread.

    A delivery counts once its journal line is durable and `positions` took it; until then each
    reading returns it again.
    """

    def __init__(self, team: Team, name: str, incarnation: int, roster: Roster, positions: Positions) -> None:
        self.positions = positions
        self.is_behind = False  # whether the last reading left something over
        self.problems: list[MailProblem] = []  # each once, the first of a source; the caller empties it
        self._team = team
        self._name = name
        self._incarnation = incarnation
        self._bearers = Bearers(team, roster)
        self._start: int | None = None  # until the roster was first asked
        self._places: dict[str, tuple[str, int, str] | None] = {}  # file name to who writes it
        self._passed: dict[str, tuple[int, int]] = {}  # behind this position, lines up to there are no mail
        self._repeats: dict[str, int] = {}  # up to there, lines repeat what was delivered
        self._told: dict[str, int] = {}  # problems before this offset are reported
        self._retired: set[str] = set()  # over, and read to the end
        self._unknown: dict[str, float] = {}  # not on record, and since when
        self._swept = float("-inf")
        self._cut = ""  # name of the sender at which the last reading had its fill
        self._view: AppendFile | None = None

    def read_new(self, limit: int = LINES_A_STEP) -> list[Delivery]:
        """What is new, the files of one name in the order of its incarnations; `limit` lines at most.

        `is_behind` tells whether that was all. Raises Superseded (TermOver for a lead) when another
        process bears the name: then nothing more may be journaled.
        """
        if self._start is None:
            self.check_bearer()
        sweep = self._team.clock.monotonic() >= self._swept + SWEEP_SECONDS
        step = _Step(left=limit)
        sources = self._sources(sweep=sweep)
        over = {source for source in sources if sweep and self._is_over(source)}  # asked before it is read
        for source in sources:
            self._read(source, step)
        self.is_behind = step.cut is not None
        self._cut = step.cut or ""
        self.check_bearer()  # it may have stood still while it read
        if sweep:
            self._swept = self._team.clock.monotonic()
            self._retired = over & step.read_out
        return step.deliveries

    def read_all(self) -> list[Delivery]:
        """Everything that is new, however much: for the last drain of a bearer. Raises as `read_new`."""
        return self.read_new(limit=sys.maxsize)

    def check_bearer(self) -> None:
        """The name is still borne by this process: to be asked before each journal line of a delivery.

        Raises Superseded, TermOver for a lead.
        """
        self._start = self._bearers.check(self._name, self._incarnation)

    def show(self, deliveries: Sequence[Delivery]) -> None:
        """They are in the file that people look at; should the disk be full, only this copy lacks them."""
        who = layout.bearer(self._name, self._incarnation)
        try:
            if self._view is None:
                self._view = AppendFile(self._team.directory, layout.received(who), durable=False)
                self._team.directory.symlink(f"{who}.jsonl", layout.received(self._name))
            self._view.append(b"\n".join(delivery.shown() for delivery in deliveries))
        except (StateUnwritable, OSError) as error:
            logger.warning(
                "the readable mail of %s is behind: %s", who, error, extra={"action": "view_behind"}
            )

    def close(self) -> None:
        """Give the descriptor back."""
        if self._view is not None:
            self._view.close()

    def _sources(self, *, sweep: bool) -> list[str]:
        found: list[tuple[str, int, str]] = []
        for file in self._team.directory.names(layout.inbox(self._name)):
            if file not in self._places:
                self._places[file] = _place(file)
            if place := self._places[file]:
                found.append(place)
            elif not file.startswith("."):
                self._report(file, 0, "not named after a sender; mail by hand goes into person~HOST.jsonl")
        found.sort(key=lambda place: (place[0] <= self._cut, place))  # no flood keeps others out
        sources = [source for _, _, source in found]
        return [source for source in sources if self._may_read(source, sweep=sweep)]

    def _may_read(self, source: str, *, sweep: bool) -> bool:
        if not sweep and (source in self._retired or source in self._unknown):
            return False
        if is_person(source) or self._bearers.is_on_record(source):
            self._unknown.pop(source, None)
            return True
        now = self._team.clock.monotonic()
        if now - self._unknown.setdefault(source, now) >= UNKNOWN_SECONDS:
            self._report(source, 0, "its sender is not on the roster")
        return False

    def _is_over(self, source: str) -> bool:
        if is_person(source):
            return is_one_call(source) and self.positions.at(source) > 0
        return not self._bearers.is_newest(source)

    def _read(self, source: str, step: _Step) -> None:
        if step.left == 0:
            step.cut = step.cut or sender_name(source)
            return
        step.begun.add(source)
        position = self.positions.at(source)
        since, passed = self._passed.get(source, (position, position))
        reached = passed if since == position else position
        for line in self._lines(source, reached):
            if step.left == 0:
                step.cut = step.cut or sender_name(source)
                return
            step.left -= 1
            delivery = self._judge(source, line, step)
            if delivery:
                step.deliveries.append(delivery)
                position = line.end
            self._passed[source] = (position, line.end)
        if position == self.positions.at(source):  # what is handed out now may come again
            step.read_out.add(source)

    def _judge(self, source: str, line: Line, step: _Step) -> Delivery | None:
        try:
            message = parse(line, source=source, to=self._name, start=self._start)
        except InvalidRecord as error:
            if source not in step.bad:
                self._report(source, line.offset, error.why)
            step.bad.add(source)
            self._told[source] = max(line.end, self._told.get(source, 0))
            return None
        known = known_as(message)
        if self.positions.knows(message) or known in step.ids:
            self._repeats[source] = line.end
            return None
        step.ids.add(known)
        return Delivery(
            source=source,
            offset=line.offset,
            end=line.end,
            message=message,
            proven=not is_person(source),
            passed=self._repeats_before(source, step),
        )

    def _repeats_before(self, source: str, step: _Step) -> dict[str, int]:
        # A repeat at the end of a file must stay known as one when its id is no longer among the last;
        # but nobody may pass over what an earlier reading handed out in front of it and was not taken.
        at = self.positions.at
        self._repeats = {other: end for other, end in self._repeats.items() if end > at(other)}
        taken = {other for other in self._repeats if self._passed[other][0] == at(other)} | step.begun
        return {other: end for other, end in self._repeats.items() if other in taken - {source}}

    def _lines(self, source: str, position: int) -> Iterator[Line]:
        path, by_hand = layout.sent(self._name, source), is_person(source)
        full = True
        try:
            while full:
                data, size = self._team.directory.read_from(path, position, LINE_BYTES)
                if position <= size:
                    lines, position = take_lines(data, position, by_hand=by_hand)
                    yield from lines
                    full = len(data) == LINE_BYTES
                elif by_hand:
                    position = 0  # an editor wrote the file anew
                else:
                    self._report(source, size, "it is shorter than what was read of it")
                    return
        except NotRegularFile:
            self._report(source, position, "it is no regular file")
        except OSError as error:  # the next reading tries again
            self._report(source, position, f"it cannot be read ({cause_of(error)})")

    def _report(self, source: str, offset: int, why: str) -> None:
        if offset < self._told.get(source, 0):
            return
        self._told[source] = offset + 1
        self.problems.append(MailProblem(source=source, offset=offset, why=why))
        logger.warning(
            "%s at %d is no mail: %s",
            layout.sent(self._name, source),
            offset,
            why,
            extra={"action": "bad_mail"},
        )


def _place(file: str) -> tuple[str, int, str] | None:
    """Name, incarnation and source of the sender whose file it is, in the order in which they are read."""
    source = file.removesuffix(".jsonl")
    bearer = split_source(source) if source != file else None
    return (*bearer, source) if bearer else None
