"""A team root: made, found, and opened only as the team that it says it is."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.clock import Clock, SystemClock, iso
from coordination.errors import NewerFormat, TeamError
from coordination.files import StateDirectory
from coordination.identity import new_id
from coordination.mounts import file_system_of
from coordination.numbered_log import FORMAT, pretty
from coordination.profile import Mount, profile_log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MADE = (
    *(*layout.TOP_LEVEL, layout.TASK_LOGS, layout.READY, layout.MEMBERS, layout.REQUESTS, layout.RUNS),
    *(layout.EVENTS, layout.LOGS, layout.TRANSCRIPTS, layout.inbox("lead")),
)
_TRACKED = {f"{layout.MAILBOXES}/README.md", f"{layout.TASKS}/README.md"}  # what git may track there


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
    mount: Mount = field(default_factory=Mount)

    @property
    def root(self) -> Path:
        return self.directory.path


def find_root(start: Path) -> Path | None:
    """The top of the git repository that holds `start`, or None outside one."""
    here = start.resolve()
    return next((place for place in (here, *here.parents) if (place / ".git").exists()), None)


def create_team(root: Path, repository: Path, *, clock: Clock | None = None) -> Team:
    """The directory is a team root; an existing one is opened as it is.

    Raises ForeignDirectory before anything is written when a directory of the same name as one of
    ours is there and was not made by us.
    """
    clock = clock or SystemClock()
    foreign = next(_foreign(root), None)
    if (root / layout.TEAM_FILE).is_file():  # asked last: another process may be making it
        return open_team(root, clock=clock)
    if foreign:
        raise ForeignDirectory(path=str(foreign))
    directory = StateDirectory(root, clock=clock)
    for name in _MADE:
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
    mount = Mount(file_system_of(root))
    directory = StateDirectory(root, clock=clock, is_shared=mount.file_system.is_shared)
    document = _team_file(directory)
    mount.take(profile_log(directory).refresh())
    return Team(
        id=document["team"],
        directory=directory,
        repository=(root / document["repository"]).resolve(),
        clock=clock,
        mount=mount,
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


def _foreign(root: Path) -> Iterator[Path]:
    """The directories of our names that hold more than a creation that was cut short leaves."""
    for top in (root / name for name in layout.TOP_LEVEL):
        if top.is_symlink() or not all(_is_ours(path, root) for path in (top, *top.rglob("*"))):
            yield top


def _is_ours(path: Path, root: Path) -> bool:
    name = path.relative_to(root).as_posix()
    try:  # one look: it may be made or removed at this moment
        is_directory = stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        return True
    if is_directory:
        return any(f"{made}/".startswith(f"{name}/") for made in _MADE)
    return name in _TRACKED or path.name.startswith(layout.TEMPORARY)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise ForeignDirectory(path=str(path))
