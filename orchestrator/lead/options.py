"""What the person said on the command line of a run."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.terminal.confirmation import Consent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestrator.terminal.console import Listener


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What the person said on the command line."""

    start: Path = field(default_factory=Path.cwd)  # the repository around it is the team's
    team_directory: Path | None = None
    model: str | None = None
    worker_model: str | None = None
    workers: int | None = None
    yes: bool = False
    as_json: bool = False
    no_input: bool = False
    flags: Mapping[str, object] = field(default_factory=dict)  # further settings, stronger than all others
    listener: Listener | None = None  # hears every event that is shown
    made_repository: bool = False  # this very process did, so there is nothing in it to be shown first

    def consent(self) -> Consent:
        """What was agreed to beforehand."""
        may_ask = not self.no_input and not self.as_json and sys.stdin.isatty()
        return Consent(yes=self.yes, workers=self.workers, may_ask=may_ask)
