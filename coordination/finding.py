"""What an inspection of the team directory found: one break or remark, and what repair would do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING = "nothing; this is for a person to settle"


class Severity(StrEnum):
    """How much depends on it."""

    NOTE = "note"  # without effect on the team: derived files behind, lines and records that do not count
    WARNING = "warning"  # somebody should look, or something of a person waits
    ERROR = "error"  # an invariant is broken


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One of them. `mend` makes it right; it adds numbers and writes derived files, nothing else."""

    code: str  # for programs: `member_dead`
    severity: Severity
    where: str  # a path below the root, or a name
    what: str
    why: str  # why it matters
    repair: str = NOTHING
    mend: Callable[[], object] | None = None

    @property
    def counts(self) -> bool:
        """Whether a team with it is less than whole."""
        return self.severity is not Severity.NOTE

    def to_json(self) -> dict[str, Any]:
        """What programs read."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "where": self.where,
            "what": self.what,
            "why": self.why,
            "repair": self.repair,
        }


def note(code: str, where: str, what: str, **more: Any) -> Finding:  # noqa: ANN401 - fields of a finding
    """A finding without effect on the team."""
    return Finding(code=code, severity=Severity.NOTE, where=where, what=what, **more)


def warning(code: str, where: str, what: str, **more: Any) -> Finding:  # noqa: ANN401 - fields of a finding
    """A finding that somebody should look at."""
    return Finding(code=code, severity=Severity.WARNING, where=where, what=what, **more)


def error(code: str, where: str, what: str, **more: Any) -> Finding:  # noqa: ANN401 - fields of a finding
    """A broken invariant."""
    return Finding(code=code, severity=Severity.ERROR, where=where, what=what, **more)
