"""Three ways to pass mail that are measured side by side: ours, a SQLite queue, and plain appends."""

from __future__ import annotations

import os
import sqlite3
import time
from typing import TYPE_CHECKING, Protocol

from coordination import layout
from coordination.leadership import Leadership
from coordination.mail.bearers import LEAD
from coordination.mail.mailbox import Inbox
from coordination.mail.outbox import Outbox
from coordination.mail.positions import account_of
from coordination.roster import Roster
from coordination.team_root import create_team, open_team
from coordination.wakeup import Wakeup
from harness.off_loop import OffLoop
from harness.tools.mail import TeamInbox, mail_journal

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.team_root import Team
    from harness.loop import Incoming


class Peer(Protocol):
    """One way to pass messages; an object is opened anew in each process."""

    def __init__(self, place: Path) -> None: ...
    def join(self, sender: int) -> None: ...
    def send(self, text: str) -> None: ...
    def open(self) -> None: ...
    def take(self) -> list[str]: ...


class Leadhand:
    """Our mail to the lead: delivered once its journal line is durable."""

    def __init__(self, place: Path) -> None:
        self._place = place
        create_team(place, place)

    def join(self, sender: int) -> None:
        team, name = open_team(self._place), f"sender{sender}"
        roster = Roster(team, name)
        member = roster.come_alive(name, roster.start(name).spawn_id)
        self._outbox = Outbox(team, member.bearer, roster)

    def send(self, text: str) -> None:
        self._outbox.send(LEAD, text)

    def open(self) -> None:
        team = open_team(self._place)
        self._taker = Taker(team)
        self._wakeup = Wakeup(team, [layout.inbox(LEAD)])

    def take(self) -> list[str]:
        texts = self._taker.take()
        if not texts:
            self._wakeup.wait(0.05)
        return texts


class Taker:
    """The lead's box, journal first, as its loop does it."""

    def __init__(self, team: Team) -> None:
        term = Leadership(team).take()
        started = time.perf_counter()
        formers = (layout.bearer(LEAD, number) for number in range(term - 1, 0, -1))
        account = account_of(team.directory, formers)
        self._journal = mail_journal(team, layout.bearer(LEAD, term), account)
        inbox = Inbox(team, LEAD, term, Roster(team, LEAD), account.positions)
        self._box = TeamInbox(inbox, OffLoop(), self._journal)
        self.first = self.take()
        self.start_seconds = time.perf_counter() - started

    def take(self) -> list[str]:
        """What is new, delivered."""
        incoming = self._box._take()  # noqa: SLF001 - without the hop into a thread, which is the loop's cost
        if incoming:
            self._journal.append_all([_line(item) for item in incoming])
            self._box._settle()  # noqa: SLF001
        return [item.journal["message"]["content"] for item in incoming]


def _line(item: Incoming) -> tuple[str, dict[str, object]]:
    return item.kind, {"text": item.text, **item.journal}


class Sqlite:
    """A queue in a table, WAL and FULL; rows are removed once they were taken."""

    def __init__(self, place: Path) -> None:
        self._path = place / "queue.db"
        self.open()
        self._db.execute("create table q(id integer primary key autoincrement, body text)")
        self._db.close()

    def join(self, _: int) -> None:
        self.open()

    def send(self, text: str) -> None:
        self._retry("begin immediate")
        self._db.execute("insert into q(body) values(?)", (text,))
        self._db.execute("commit")

    def open(self) -> None:
        self._db = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        self._db.execute("pragma journal_mode=wal")
        self._db.execute("pragma synchronous=full")

    def take(self) -> list[str]:
        rows = self._db.execute("select id, body from q order by id limit 64").fetchall()
        if not rows:
            time.sleep(0.001)
            return []
        self._retry("begin immediate")
        self._db.execute("delete from q where id <= ?", (rows[-1][0],))
        self._db.execute("commit")
        return [row[1] for row in rows]

    def _retry(self, statement: str) -> None:
        while True:
            try:
                self._db.execute(statement)
            except sqlite3.OperationalError:
                time.sleep(0.001)
            else:
                return


class Raw:
    """The limit: one file for each sender, append and fsync, read by offset, nothing acknowledged."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def join(self, sender: int) -> None:
        self._descriptor = os.open(self._place / f"{sender}.raw", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def send(self, text: str) -> None:
        os.write(self._descriptor, text.encode() + b"\n")
        os.fsync(self._descriptor)

    def open(self) -> None:
        self._read: dict[Path, int] = {}

    def take(self) -> list[str]:
        texts: list[str] = []
        for path in self._place.glob("*.raw"):
            data = path.read_bytes()[self._read.get(path, 0) :]
            whole = data[: data.rfind(b"\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole)
            texts += whole.decode().splitlines()
        if not texts:
            time.sleep(0.001)
        return texts


PEERS: dict[str, type[Peer]] = {"leadhand": Leadhand, "sqlite": Sqlite, "raw": Raw}
