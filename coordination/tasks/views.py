"""The readable copies `.tasks/<id>.json`: written for people, and taken back when a person edits one."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.errors import NotRegularFile, StateUnwritable
from coordination.numbered_log import ENVELOPE, Record, digest, pretty, seal
from coordination.tasks.refusals import FieldInvalid, NotUnclaimed
from coordination.tasks.rules import InvalidTransition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordination.tasks.logs import TaskLogs
    from coordination.team_root import Team


class ViewState(Enum):
    """What a readable copy is, compared with the newest version."""

    BEHIND = auto()  # older, empty or missing
    CURRENT = auto()  # the same, or newer than this process knows
    EDITED = auto()  # a person's edit of the newest version
    STRAY = auto()  # an edit of an older version, or nothing of ours
    UNFINISHED = auto()  # no JSON: perhaps an editor is just saving


class TaskViews:
    """One look at a copy decides whether it is written anew, adopted, or put aside; no edit is lost."""

    def __init__(
        self, team: Team, logs: TaskLogs, adopt: Callable[[str, int, dict[str, Any]], object]
    ) -> None:
        self._directory = team.directory
        self._logs = logs
        self._adopt = adopt
        self._unfinished: dict[str, bytes] = {}

    def refresh(self, tasks: Iterable[str]) -> None:
        """The copies of these tasks show the newest versions, edits by hand adopted or put aside."""
        for task in tasks:
            try:
                self._look(task)
            except (NotRegularFile, StateUnwritable) as error:
                self._logs.problems[task] = str(error)
                self._logs.touched.add(task)
            except OSError:  # another host replaces the copy at this moment; the next look sees it
                self._logs.touched.add(task)

    def _look(self, task: str) -> None:
        log = self._logs.log(task)
        if log.newest is None:
            return
        data = self._read(layout.task_view(task))
        state = judge(data, log.name, log.newest)
        if state is ViewState.UNFINISHED and self._unfinished.get(task) == data:
            state = ViewState.STRAY  # it was the same at the last look, so nobody is saving it
        self._unfinished.pop(task, None)
        match state:
            case ViewState.CURRENT:
                return
            case ViewState.UNFINISHED:
                self._unfinished[task] = data
                self._logs.touched.add(task)
                return
            case ViewState.EDITED:
                self._take_back(task, data, log.newest)
            case ViewState.STRAY:
                self._put_aside(task, data, "it is no edit of the newest version")
            case ViewState.BEHIND:
                pass
        self._write(task)

    def _take_back(self, task: str, data: bytes, newest: Record) -> None:
        changes = {
            key: value
            for key, value in msgspec.json.decode(data).items()
            if key not in ENVELOPE and (key not in newest.body or newest.body[key] != value)
        }
        if not changes:
            return
        try:
            self._adopt(task, newest.number, changes)
        except (FieldInvalid, NotUnclaimed, InvalidTransition) as error:
            self._put_aside(task, data, str(error))

    def _put_aside(self, task: str, data: bytes, why: str) -> None:
        number = self._logs.log(task).top
        while self._directory.exists(layout.task_conflict(task, number)):
            number += 1
        name = layout.task_conflict(task, number)
        self._directory.replace(name, data, durable=True)
        self._logs.problems[task] = f"the edit of {layout.task_view(task)} is kept as {name}: {why}"

    def _write(self, task: str) -> None:
        log = self._logs.log(task)
        newest = log.newest
        assert newest is not None
        document = seal(
            log.name, newest.body, number=newest.number, prev=newest.prev, commit_id=newest.commit_id
        )
        self._directory.replace(layout.task_view(task), pretty(document))

    def _read(self, name: str) -> bytes:
        try:
            return self._directory.read(name)
        except FileNotFoundError:
            return b""


def judge(data: bytes, log: str, newest: Record) -> ViewState:
    """What a copy with this content is; pure."""
    if not data.strip():
        return ViewState.BEHIND
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ViewState.UNFINISHED
    if not isinstance(document, dict) or document.get("log") != log:
        return ViewState.STRAY
    number = document.get("number")
    if document.get("digest") == digest(document) and isinstance(number, int):
        return ViewState.BEHIND if number < newest.number else ViewState.CURRENT
    return ViewState.EDITED if number == newest.number else ViewState.STRAY
