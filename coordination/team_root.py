"""A team root: made, found, and opened only as the team that it says it is."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.clock import Clock, SystemClock, iso
from coordination.errors import NewerFormat, TeamError
from coordination.files import StateDirectory
from coordination.identity import new_id
from coordination.numbered_log import FORMAT, pretty

if TYPE_CHECKING:
    from pathlib import Path

OWN_FILES = {layout.MAILBOXES: {"README.md"}, layout.TASKS: {"README.md"}}  # what git may track there


@dataclass(eq=False)
class NoTeam(TeamError):
    """There is no team root here."""

    path: str
    says = "no team in {path}; run `leadhand init` there, or name the team's directory with --team"


@dataclass(eq=False)
class ForeignDirectory(TeamError):
    """A directory that the team needs is in use for something else."""

    path: str
    says = "{path} holds files that are not leadhand's; choose another directory for the team with --team DIR"


@dataclass(eq=False)
class TeamFileDamaged(TeamError):
    """The file that says which team this is cannot be used."""

    path: str
    why: str
    says = "{path} is damaged ({why}); restore it, nothing can be done without it"


@dataclass(frozen=True, kw_only=True)
class Team:
    """An opened team root: what every store is given."""

    id: str
    directory: StateDirectory
    repository: Path  # top of the git repository that the team works on
    clock: Clock

    @property
    def root(self) -> Path:
        return self.directory.path


def create_team(root: Path, repository: Path, *, clock: Clock | None = None) -> Team:
    """The directory is a team root; an existing one is opened as it is.

    Raises ForeignDirectory before anything is written when a directory of the same name as one of
    ours is there and was not made by us.
    """
    clock = clock or SystemClock()
    if (root / layout.TEAM_FILE).is_file():
        return open_team(root, clock=clock)
    for name in layout.TOP_LEVEL:
        _refuse_foreign(root / name)
    directory = StateDirectory(root, clock=clock)
    for name in (*layout.TOP_LEVEL, layout.TASK_LOGS, layout.READY, layout.MEMBERS, layout.REQUESTS):
        directory.make(name)
    for name in (layout.RUNS, layout.EVENTS, layout.LOGS, layout.TRANSCRIPTS, layout.inbox("lead")):
        directory.make(name)
    document = {
        "format": FORMAT,
        "team": new_id("team"),
        "repository": os.path.relpath(repository, root),
        "made_at": iso(clock.now()),
    }
    directory.publish(layout.TEAM_FILE, pretty(document))  # a lost race opens the winner's
    directory.close()
    return open_team(root, clock=clock)


def open_team(root: Path, *, clock: Clock | None = None) -> Team:
    """The team of this root. Raises NoTeam, ForeignDirectory, NewerFormat, TeamFileDamaged."""
    clock = clock or SystemClock()
    if not (root / layout.TEAM_FILE).is_file():
        raise NoTeam(path=str(root))
    for name in (*layout.TOP_LEVEL, *layout.SECOND_LEVEL):
        _refuse_link(root / name)
    directory = StateDirectory(root, clock=clock)
    document = _team_file(directory)
    return Team(
        id=document["team"],
        directory=directory,
        repository=(root / document["repository"]).resolve(),
        clock=clock,
    )


def _team_file(directory: StateDirectory) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(directory.read_patiently(layout.TEAM_FILE), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise TeamFileDamaged(path=layout.TEAM_FILE, why=str(error)) from error
    version = document.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise NewerFormat(path=layout.TEAM_FILE, format=version, version=document.get("version"))
    for name in ("team", "repository"):
        if version != FORMAT or not isinstance(document.get(name), str):
            raise TeamFileDamaged(path=layout.TEAM_FILE, why=f"it has no {name} of a known format")
    return document


def _refuse_foreign(path: Path) -> None:
    _refuse_link(path)
    if not path.exists():
        return
    if not path.is_dir() or {entry.name for entry in path.iterdir()} - OWN_FILES.get(path.name, set()):
        raise ForeignDirectory(path=str(path))


def _refuse_link(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise ForeignDirectory(path=str(path))
