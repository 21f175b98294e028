"""Two hosts prove to each other what their mounts do: names arrive, a link excludes, the lock holds."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.errors import InvalidRecord, NotRegularFile, StateUnreadable
from coordination.identity import new_id
from coordination.locks import HostLock, is_held_elsewhere
from coordination.numbered_log import LogKind, Logs, Record
from coordination.process import this_machine, this_process
from coordination.profile import Profile, called
from coordination.records import JsonRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.team_root import Team

ANSWER_SECONDS = 15.0  # in which a process that lives answers, however it looks for changes
VISIBLE_SECONDS = 5.0  # in which a name that can be opened has to be in the listing
HELD_SECONDS = 30.0  # the lock, for a caller that looks whether it is
LOOK_SECONDS = 0.05
_ANSWER = 2  # its number


class Step(JsonRecord, frozen=True, kw_only=True):
    """What one of the two says: the call, the answer, the end."""

    host: str
    boot: str
    nonce: str
    heard: str = ""  # the nonce of the other, read from its record
    found: Profile | None = None  # by the caller, at the end


@dataclass(frozen=True, kw_only=True)
class Talk:
    """One handshake as far as it has come."""

    call: Step
    answer: Step | None = None
    end: Step | None = None


class TalkRules:
    """One host calls, another answers, the first ends it."""

    def __init__(self, _: str) -> None:
        """Those of any handshake."""

    def check(self, state: Talk | None, record: Record) -> None:
        step = Step.from_json(record.body)
        if state is None:
            if step.heard or step.found:
                raise InvalidRecord(why="nobody has called yet")
        elif state.end:
            raise InvalidRecord(why="it is over")
        elif step.found is None and (state.answer or not _answers(state.call, step)):
            raise InvalidRecord(why="it is no answer to the call")
        elif step.found and not _ends(state, step):
            raise InvalidRecord(why="only the caller ends it, once it has heard the answer")

    def apply(self, state: Talk | None, record: Record) -> Talk:
        step = Step.from_json(record.body)
        if state is None:
            return Talk(call=step)
        if step.found:
            return Talk(call=state.call, answer=state.answer, end=step)
        return Talk(call=state.call, answer=step)


def _answers(call: Step, step: Step) -> bool:
    return step.heard == call.nonce and (step.host, step.boot) != (call.host, call.boot)


def _ends(talk: Talk, step: Step) -> bool:
    heard = talk.answer.nonce if talk.answer else ""
    return step.heard == heard and (step.host, step.boot) == (talk.call.host, talk.call.boot)


HANDSHAKE = LogKind(
    name="handshake", parent=layout.HANDSHAKES, ids=re.compile(r"hs_[0-9a-f]{8}"), rules=TalkRules
)


def _step(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - the fields of a Step
    me = this_process()
    return Step(**{"host": me.host, "boot": me.boot, "nonce": secrets.token_hex(8), **fields}).to_json()


def _heard(talk: Talk | None) -> dict[str, Any]:
    return {"heard": talk.answer.nonce} if talk and talk.answer else {}


class Answers:
    """What this process answers to hosts that call; an object belongs to one thread."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._logs = Logs(team.directory, HANDSHAKE)
        self._held: dict[str, tuple[HostLock, float]] = {}  # and until when
        self._over: set[str] = set()

    def look(self) -> None:
        """A host that calls has an answer, and finds the lock of the handshake held for a while."""
        for key in HANDSHAKE.found(self._team.directory):
            if key in self._held:
                self._let_go(key)
            elif key not in self._over:
                self._answer(key)

    def _answer(self, key: str) -> None:
        talk, me = self._logs[key].refresh(), this_process()
        if talk is None:
            return
        if talk.answer or talk.end or (talk.call.host, talk.call.boot) == (me.host, me.boot):
            self._over.add(key)
            return
        lock = HostLock(self._team.root / layout.handshake_lock(key))
        lock.acquire()  # where it cannot be had, the caller finds that out
        name = called(self._team.mount.hosts, me.host, this_machine())
        mine = _step(heard=talk.call.nonce, host=name)
        self._held[key] = lock, self._team.clock.monotonic() + HELD_SECONDS
        try:
            self._logs[key].commit(lambda *_: mine)
        except InvalidRecord:  # another process of this host, or of a third, was first
            self._drop(key)

    def _let_go(self, key: str) -> None:
        talk = self._logs[key].refresh()
        if (talk and talk.end) or self._team.clock.monotonic() >= self._held[key][1]:
            self._drop(key)

    def _drop(self, key: str) -> None:
        lock, _ = self._held.pop(key)
        lock.release()
        self._over.add(key)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a caller found out."""

    found: Profile
    proven_with: str | None = None
    visible_seconds: float = 0.0
    why: str = ""


NOBODY = Finding(found=Profile.UNLOCKED, why="no process of another host was there to prove the lock with")


class Call:
    """One handshake from the side of the host that joins."""

    def __init__(self, team: Team, is_somebody_there: Callable[[], bool]) -> None:
        """`is_somebody_there` tells whether a process of another host was seen to live meanwhile."""
        self._team = team
        self._is_somebody_there = is_somebody_there
        self._key = new_id("hs")
        self._log = HANDSHAKE.open(team.directory, self._key)

    def find_out(self) -> Finding:
        """Call, and judge the answer; takes up to `ANSWER_SECONDS` and `VISIBLE_SECONDS`."""
        team = self._team
        team.directory.touch(layout.handshake_lock(self._key))  # beforehand: two must not make it at once
        mine = _step()
        self._log.commit(lambda *_: mine)
        finding = self._judge()
        last = _step(found=finding.found)
        self._log.commit(lambda talk, _: last | _heard(talk))  # an answer may come at this very moment
        return finding

    def _judge(self) -> Finding:
        answer, opened, listed = self._wait()
        if answer is None:
            if not self._is_somebody_there():
                return NOBODY
            why = f"what this host writes was not seen there within {ANSWER_SECONDS:g} s"
            return Finding(found=Profile.UNFIT, why=why)
        if listed is None:
            why = f"files that {answer.host} makes are not listed here within {VISIBLE_SECONDS:g} s"
            return Finding(found=Profile.UNFIT, proven_with=answer.host, why=why)
        if not self._link_excludes():
            why = f"a name that {answer.host} has made could be made a second time"
            return Finding(found=Profile.UNFIT, proven_with=answer.host, why=why)
        holds = is_held_elsewhere(self._team.root / layout.handshake_lock(self._key))
        return Finding(
            found=Profile.FLOCK if holds else Profile.UNLOCKED,
            proven_with=answer.host,
            visible_seconds=round(abs(listed - opened), 2),
            why="" if holds else f"a lock that {answer.host} held was free here",
        )

    def _wait(self) -> tuple[Step | None, float, float | None]:
        """The answer, and when it was first opened and first listed."""
        clock = self._team.clock
        began, answer, opened, listed = clock.monotonic(), None, 0.0, None
        while True:
            now = clock.monotonic()
            if listed is None and f"{_ANSWER}.json" in self._names():
                listed = now
            if answer is None and self._has_opened():
                answer, opened = self._answer(), now
            if answer is None and now - began >= ANSWER_SECONDS:
                return None, 0.0, None
            if answer and (listed is not None or now - opened >= VISIBLE_SECONDS):
                return answer, opened, listed
            clock.sleep(LOOK_SECONDS)

    def _names(self) -> list[str]:
        return self._team.directory.names(self._log.path)

    def _has_opened(self) -> bool:
        """By name alone: not what a listing makes known."""
        try:
            self._team.directory.read(layout.record(self._log.path, _ANSWER))
        except (OSError, NotRegularFile, StateUnreadable):
            return False
        return True

    def _answer(self) -> Step | None:
        talk = self._log.refresh()
        return talk.answer if talk else None

    def _link_excludes(self) -> bool:
        path = layout.record(self._log.path, _ANSWER)
        before = self._team.directory.read_patiently(path)
        error = self._team.directory.publish(path, msgspec.json.encode({"of": "a second winner"}))
        return error is not None and self._team.directory.read_patiently(path) == before
