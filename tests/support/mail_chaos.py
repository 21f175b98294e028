"""Senders, receivers and a lead that are killed, frozen and cut off the disk, and what came of their mail."""

from __future__ import annotations

import hashlib
import os
import signal
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from coordination import layout
from coordination.errors import StateUnwritable
from coordination.leadership import Leadership
from coordination.mail.bearers import LEAD
from coordination.mail.lines import Delivery, sender_name
from coordination.mail.mailbox import Inbox
from coordination.mail.outbox import Outbox
from coordination.mail.positions import CHECKPOINT_KIND, DELIVERY_KIND, Positions, account_of
from coordination.protocols import TermOver
from coordination.roster import Roster, Superseded
from coordination.team_root import open_team
from coordination.wakeup import Wakeup
from harness.journal import Journal, read
from harness.off_loop import OffLoop
from harness.tools.mail import TeamInbox, mail_journal
from tests.support.mail import bearer_of, join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.context import ForkServerProcess
    from random import Random

    from coordination.mail.positions import Account
    from coordination.team_root import Team

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["tests.support.mail_chaos"])
REFUSED = 8  # exit code of a process that could not write
FOLLOWED = 9  # exit code of a process that found that another bears its name
FULL_FOR_TICKS = 3
IN_DOUBT = 6  # messages that a restarted sender sends again, not knowing whether they were written
DELIVERED_SECONDS = 40.0  # after the last was sent
_GARBAGE = (b"\n!! not json\n", b"\0" * 512, b'\n{"id":"torn","seq":1,"content":"half a l', b"\n[]\n\xff\xfe")


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much of everything."""

    senders: int
    messages: int  # of each sender
    pace_seconds: float  # of a sender
    tick_seconds: float  # between kills
    disk_megabytes: int = 24  # where the disk is full now and then; each process leaves a dozen small files
    recipients: tuple[str, ...] = (LEAD, "ann", "bob", "cid")


def text_of(sender: str, number: int) -> str:
    """What that message says: a torn or mixed up one would not fit its own digest."""
    body = f"{sender} {number} " + "x" * (number * 37 % 900)
    return f"{body} {hashlib.sha256(body.encode()).hexdigest()}"


# what the processes do


def sender_process(root: str, name: str, size: Size) -> None:
    """Send all messages in their order, from the first that no journal of the name says was sent."""
    _until_done(lambda: _send_rest(open_team(Path(root)), name, size))


def receiver_process(root: str, name: str) -> None:
    """Take mail for ever."""
    _until_done(lambda: _receive(open_team(Path(root)), name))


def _until_done(life: Callable[[], None]) -> None:
    try:
        life()
    except StateUnwritable:
        os._exit(REFUSED)
    except (Superseded, TermOver):
        os._exit(FOLLOWED)


def _send_rest(team: Team, name: str, size: Size) -> None:
    roster = Roster(team, name)
    member = roster.restart(name)
    sent = [
        line["number"]  # a process that was followed may say so once more, so they are not counted
        for bearer in roster.bearers(member)
        for line in read(team.directory, layout.journal(bearer))
        if line["kind"] == "sent"
    ]
    me = member.bearer
    outbox, journal = Outbox(team, me, roster), Journal(team.directory, layout.journal(me), team.clock)
    for number in range(max(0, max(sent, default=-1) + 1 - IN_DOUBT), size.messages):
        to = size.recipients[number % len(size.recipients)]
        outbox.send(to, text_of(name, number), message_id=f"call_{number}")
        journal.append("sent", number=number)
        team.clock.sleep(size.pace_seconds)


def _receive(team: Team, name: str) -> None:
    roster = Roster(team, name)
    if name == LEAD:
        leadership = Leadership(team)
        leadership.newest()
        incarnation = leadership.take(silent=True)
        formers = [layout.bearer(LEAD, term) for term in range(incarnation - 1, 0, -1)]
    else:
        member = roster.restart(name)
        incarnation, formers = member.incarnation or 0, roster.bearers(member)[1:]
    account = account_of(team.directory, formers)
    journal = mail_journal(team, layout.bearer(name, incarnation), account)
    inbox = Inbox(team, name, incarnation, roster, account.positions)
    anyio.run(_take_for_ever, team, name, inbox, journal)


async def _take_for_ever(team: Team, name: str, inbox: Inbox, journal: Journal) -> None:
    box, wakeup = TeamInbox(inbox, OffLoop(), journal), Wakeup(team, [layout.inbox(name)])
    try:
        while True:
            incoming = await box.take()
            if incoming:
                journal.append_all([(item.kind, {"text": item.text, **item.journal}) for item in incoming])
                await box.settle()
            else:
                await anyio.to_thread.run_sync(wakeup.wait, 0.5)
    finally:
        wakeup.close()


# what happens to them


@dataclass
class Chaos:
    """A random process is killed or frozen at each tick, and its successor started at once."""

    team: Team
    size: Size
    random: Random
    full_disk: bool = False
    living: dict[str, ForkServerProcess] = field(default_factory=dict)
    frozen: list[ForkServerProcess] = field(default_factory=list)
    kills: int = 0
    freezes: int = 0
    woken: list[ForkServerProcess] = field(default_factory=list)

    def run(self, patience_seconds: float) -> None:
        """All is sent and delivered; nobody is left."""
        clock = self.team.clock
        deadline = clock.monotonic() + patience_seconds
        for name in self._names():
            if name != LEAD:
                join(self.team, name)
        for name in self._names():
            self._start(name)
        ticks = 0
        while any(self._is_sending(name) for name in self._senders()):
            assert clock.monotonic() < deadline, "the senders are not done in time"
            self._restart_ended()
            clock.sleep(self.size.tick_seconds)
            self._strike()
            self._spoil()
            ticks += 1
            self._fill(ticks)
        self._ballast.unlink(missing_ok=True)
        self._wake()
        deadline = clock.monotonic() + DELIVERED_SECONDS
        while not self._is_all_delivered():
            assert clock.monotonic() < deadline, "the mail is not delivered in time"
            self._restart_ended()
            clock.sleep(0.1)
        for process in self.woken:
            process.join(DELIVERED_SECONDS)
        for process in (*self.living.values(), *self.woken):
            process.kill()

    @property
    def _ballast(self) -> Path:
        return self.team.root / "ballast"

    def _senders(self) -> list[str]:
        return [f"sender{number}" for number in range(self.size.senders)]

    def _names(self) -> list[str]:
        return [*self._senders(), *self.size.recipients]

    def _start(self, name: str) -> None:
        root = str(self.team.root)
        is_receiver = name in self.size.recipients
        target, arguments = (
            (receiver_process, (root, name)) if is_receiver else (sender_process, (root, name, self.size))
        )
        self.living[name] = FORKS.Process(target=target, args=arguments, daemon=True)
        self.living[name].start()

    def _is_sending(self, name: str) -> bool:
        return self.living[name].exitcode != 0

    def _restart_ended(self) -> None:
        for name, process in list(self.living.items()):
            assert process.exitcode in {None, 0, REFUSED, FOLLOWED}, f"{name} failed with {process.exitcode}"
            if process.exitcode:  # one that was frozen before it began may follow its successor
                self._start(name)

    def _strike(self) -> None:
        self._wake()
        victims = [name for name, process in self.living.items() if process.is_alive()]
        if not victims:
            return
        name = self.random.choice(victims)
        process = self.living[name]
        with suppress(ProcessLookupError):
            if self.random.random() < 0.25:
                os.kill(process.pid or 0, signal.SIGSTOP)
                self.frozen.append(process)
                self.freezes += 1
            else:
                process.kill()
                process.join()
                self.kills += 1
        if process.exitcode != 0:  # it may have been done at this very moment
            self._start(name)

    def _wake(self) -> None:
        """Who stood still since the last tick goes on, followed by another, and has to notice."""
        for process in self.frozen:
            with suppress(ProcessLookupError):  # it ended before it could be stopped
                os.kill(process.pid or 0, signal.SIGCONT)
        self.woken += self.frozen
        self.frozen = []

    def _spoil(self) -> None:
        """Somebody writes into a file that is not his."""
        places = [*(self.team.root / layout.MAILBOXES).rglob("*.jsonl")]
        places += (self.team.root / layout.TRANSCRIPTS).glob("*.jsonl")
        if not places:
            return  # on a busy machine nobody has written anything yet
        with suppress(OSError), self.random.choice(places).open("ab", buffering=0) as file:
            file.write(self.random.choice(_GARBAGE))

    def _fill(self, tick: int) -> None:
        if not self.full_disk or tick % (2 * FULL_FOR_TICKS):
            if tick % FULL_FOR_TICKS == 0:
                self._ballast.unlink(missing_ok=True)
            return
        with suppress(OSError), self._ballast.open("wb", buffering=0) as file:
            for block in (1 << 20, 1 << 12):
                with suppress(OSError):
                    while True:
                        file.write(b"\0" * block)

    def _is_all_delivered(self) -> bool:
        expected = self.size.senders * self.size.messages
        return sum(len(conversation(self.team, name)) for name in self.size.recipients) >= expected


# what came of it


def chain(team: Team, name: str) -> list[list[dict[str, Any]]]:
    """The journals of a name, oldest first, each up to where its successor says that it counts."""
    last = Leadership(team).newest() if name == LEAD else None
    newest = last[0] if last else bearer_of(team, name)[1]
    formers = [layout.bearer(name, number) for number in range(newest, 0, -1)]
    account: Account = account_of(team.directory, formers)
    bearer, offset, journals = account.journal, account.offset, []
    while bearer:
        lines = list(_lines(team, bearer, offset))
        first = next(line for line in lines if line["kind"] == CHECKPOINT_KIND)
        journals.append(lines)
        bearer, offset = first.get("follows"), first.get("offset", 0)
    return journals[::-1]


def _lines(team: Team, bearer: str, offset: int) -> Iterator[dict[str, Any]]:
    directory, newest = team.directory, 0
    data, _ = directory.read_from(layout.journal(bearer), 0, offset)
    copy = f"{layout.TRANSCRIPTS}/counted"
    directory.replace(copy, data)
    lines = list(read(directory, copy))
    directory.unlink(copy)
    for line in lines:
        assert line["n"] > newest
        newest = line["n"]
        yield line


def conversation(team: Team, name: str) -> list[Delivery]:
    """What was delivered to the name, over all its processes."""
    lines = (line for journal in chain(team, name) for line in journal)
    return [Delivery.from_json(line) for line in lines if line["kind"] == DELIVERY_KIND]


def check(team: Team, size: Size) -> None:
    """Every message was delivered once, whole, and in its sender's order."""
    for place, name in enumerate(size.recipients):
        arrived: dict[str, list[str]] = defaultdict(list)
        for delivery in conversation(team, name):
            arrived[sender_name(delivery.source)].append(delivery.message.content)
        numbers = range(place, size.messages, len(size.recipients))
        senders = [f"sender{number}" for number in range(size.senders)]
        assert arrived == {sender: [text_of(sender, number) for number in numbers] for sender in senders}


def has_its_checkpoints(team: Team, name: str) -> bool:
    """No more lines stand between two checkpoints of a journal of the name than may, by what it has read."""
    longest, journals = 0, chain(team, name)
    for journal in journals:
        since = 0
        for line in journal:
            since = 0 if line["kind"] == CHECKPOINT_KIND else since + 1
            longest = max(longest, since)
    return not Positions.fold(journals[-1]).checkpoint_due(longest - 1)
