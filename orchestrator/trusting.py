"""The gate before anything that a repository brings along is used: has the person seen it as it is?"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from coordination.clock import SystemClock, iso
from harness.catalogs import find_catalogs
from harness.settings.sources import DOTENV_FILE, SETTINGS_FILE
from harness.trust.effects import difference, effects
from harness.trust.records import NotTrusted, Place, TrustRecords
from harness.trust.repository_files import RepositoryFiles
from orchestrator.terminal.confirmation import YES
from orchestrator.terminal.plain import echo, one_line
from workspace.git import Git
from workspace.git_directory import NotARepository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordination.team_root import Team
    from harness.catalogs import Catalogs
    from harness.settings.settings import Settings

SHOWN_LINES = 60  # of effects, and of a difference; `leadhand trust` shows all


def place_of(team: Team) -> Place:
    return Place(root=team.root, repository=team.repository)


def present_catalogs(place: Place, settings: Settings) -> Catalogs:
    """What lies there now. Raises RepositoryFileUnreadable, GitError."""
    tracked: list[str] = []
    with suppress(NotARepository):  # then nothing comes with one
        if Git(place.repository).tracks(place.root / DOTENV_FILE):
            tracked = [DOTENV_FILE]
    return find_catalogs(place.root, place.repository, settings, tracked=tracked)


def seen_catalogs(place: Place, settings: Settings, *, may_ask: bool = False) -> Catalogs:
    """What lies there now, which the person has seen: before, or just now at their terminal.

    Raises NotTrusted, OwnFileUnusable, and as `present_catalogs`.
    """
    catalogs = present_catalogs(place, settings)
    if why := unseen(place, catalogs.files):
        if not may_ask:
            raise why
        echo(shown(catalogs.files, TrustRecords().seen(place), most=SHOWN_LINES))
        if not agreed():
            raise why
        trust(place, catalogs.files)
    return catalogs


def trust(place: Place, files: RepositoryFiles) -> None:
    """The person has seen these files. Raises StateUnwritable, OwnFileUnusable."""
    TrustRecords().keep(files, place, at=iso(SystemClock().now()))


def trust_written(place: Place, settings: Settings) -> NotTrusted | None:
    """The settings file that the person has just had written is trusted; what else is not is returned."""
    files, records = present_catalogs(place, settings).files, TrustRecords()
    seen = records.seen(place) or RepositoryFiles(texts={})
    if set(files.other_than(seen)) <= {SETTINGS_FILE}:
        trust(place, files)
    return unseen(place, files)


def unseen(place: Place, files: RepositoryFiles) -> NotTrusted | None:
    """Why the files cannot be used yet; None when they can. Raises OwnFileUnusable."""
    try:
        TrustRecords().check(files, place)
    except NotTrusted as error:
        return error
    return None


def agreed() -> bool:
    """The word of the person at the terminal; only a yes is one."""
    answer: str = click.prompt("trust these files as they are? [y/N]", default="", show_default=False)
    return answer.strip().lower() in YES


def shown(files: RepositoryFiles, before: RepositoryFiles | None, *, most: int | None = None) -> str:
    """What the files do, and what has changed since the person saw them, for a terminal."""
    if not files.texts:
        return "this repository brings nothing along"
    lines = ["this repository brings along:", *(f"  {effect}" for effect in effects(files))]
    parts = [_first(lines, most)]
    if before is not None and (patch := difference(before, files)):
        parts.append(_first(["changed since you trusted it:", *patch.splitlines()], most))
    return "\n\n".join(parts)


def _first(lines: Sequence[str], most: int | None) -> str:
    """So many of the lines."""
    shown_lines = lines[:most]
    left = len(lines) - len(shown_lines)
    rest = [f"  … and {left} lines more, which `leadhand trust` shows"] if left else []
    return "\n".join(map(one_line, [*shown_lines, *rest]))
