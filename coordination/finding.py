"""What an inspection of the team directory found: one break or remark, and what repair would do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Mend = Callable[[], object]

# What a person does about a finding that nothing mends by itself, by its code.
BY_HAND: Mapping[str, str] = {
    "above_free_number": "nothing has to be done; it may be moved away while the team is stopped",
    "bad_line": "if it was meant as a message, send it again with `leadhand send`",
    "box_unreadable": "make the box readable for this user (owner and mode), or move it away and put it back",
    "cycle": "`leadhand tasks cancel` one of them, then `leadhand tasks add` it without that need",
    "delivered_twice": "nothing can be taken back; please report it",
    "foreign_name": "move it out of the directory if you do not need it there",
    "holds_two": "`leadhand tasks cancel` one of the two, or `leadhand stop` the member: both go back",
    "invalid_record": "nothing has to be done; leave it where it is, since its number is used up",
    "journal_damaged": "bring the file back from a backup; without one, look at it by hand before you resume",
    "link": "put the real file in its place, or remove the link",
    "no_file": "move it away",
    "no_lead": "`leadhand resume` goes on, `leadhand stop` ends the run",
    "reserved_name": "`leadhand stop` it, and start it again under another name",
    "run_unreadable": "bring its records back from a backup; `leadhand run` starts another run",
    "task_unreadable": "bring its newest record back from a backup, or `leadhand tasks add` the task anew",
    "torn_line": "nothing has to be done: what is lost was never acted on",
    "unannounced": "nothing has to be done; nobody will ever look at it",
    "unknown_sender": "move it away; if the text is wanted, `leadhand send` it",
    "view_blocked": "move away what stands in its place; the copy is made anew",
}
LOOK = "look at what is named there; make it readable, or bring it back from a backup"


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
    repair: str = ""  # what `--repair` does; empty: nothing, and a person has to
    mend: Mend | None = None

    @property
    def way_out(self) -> str:
        """What to do about it."""
        return self.repair or f"nothing by itself: {BY_HAND.get(self.code, LOOK)}"

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
            "repair": self.way_out,
        }


def _finding(  # noqa: PLR0913 - what a finding says, by name
    severity: Severity,
    code: str,
    where: str,
    what: str,
    *,
    why: str,
    repair: str = "",
    mend: Mend | None = None,
) -> Finding:
    return Finding(severity=severity, code=code, where=where, what=what, why=why, repair=repair, mend=mend)


note = partial(_finding, Severity.NOTE)
warning = partial(_finding, Severity.WARNING)
error = partial(_finding, Severity.ERROR)
