"""What the person said for more than one call, in files of the person's own, one per answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from coordination.errors import TeamError
from coordination.own_files import OwnFileUnusable, own_directory, read_own, write_own

if TYPE_CHECKING:
    from pathlib import Path


class Scope(StrEnum):
    """For what an answer holds."""

    ONCE = "once"  # the calls that were asked about
    TEAM = "team"  # every like call of every member of this team
    ALWAYS = "always"  # and of every other team of this person


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One answer that stands."""

    id: str  # of the request that it answered
    team: str
    scope: Scope
    allow: bool
    tool: str
    shown: str  # what the person saw
    digest: str  # of the canonical action
    asker: str  # for whom it was decided first
    by: str
    reason: str = ""
    at: str = ""


@dataclass(eq=False)
class NothingToForget(TeamError):
    """No standing answer has this id."""

    id: str
    says = "no answer {id} stands; `leadhand approvals` lists those that do"


def persons_directory() -> Path:
    """Where they lie: outside every repository, readable by this person alone."""
    return own_directory() / "answers"


class Answers:
    """The standing answers that hold in one team."""

    def __init__(self, directory: Path, team: str) -> None:
        self._directory = directory
        self._team = team

    def all(self) -> list[Standing]:
        """Those that hold here, oldest first; what is no answer is passed over."""
        try:
            paths = sorted(self._directory.glob("req_*.json"))
        except OSError:
            return []
        found = [answer for answer in map(_read, paths) if answer]
        here = [answer for answer in found if answer.scope is Scope.ALWAYS or answer.team == self._team]
        return sorted(here, key=lambda answer: answer.at)

    def to(self, digest: str) -> Standing | None:
        """The answer that holds for this action; a denial before an approval."""
        found = [answer for answer in self.all() if answer.digest == digest]
        return min(found, key=lambda answer: answer.allow, default=None)

    def keep(self, answer: Standing) -> None:
        """The answer stands. Raises StateUnwritable, OwnFileUnusable."""
        write_own(self._directory / f"{answer.id}.json", msgspec.json.format(msgspec.json.encode(answer)))

    def forget(self, request: str) -> Standing:
        """The answer holds no longer. Raises NothingToForget."""
        answer = next((answer for answer in self.all() if answer.id == request), None)
        if answer is None:
            raise NothingToForget(id=request)
        (self._directory / f"{request}.json").unlink(missing_ok=True)
        return answer


def _read(path: Path) -> Standing | None:
    try:
        return msgspec.json.decode(read_own(path) or b"", type=Standing)
    except (OwnFileUnusable, msgspec.DecodeError):
        return None
