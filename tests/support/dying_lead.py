"""The command `leadhand`, killed in front of the n-th step of its first start of teammates.

The steps reach from the first member that is asked for to the end of the turn that launched them.
"""

from __future__ import annotations

import subprocess  # noqa: TID251 - a step of its own lies right behind the start of a process
import sys
from typing import Any

from orchestrator.cli.main import main
from orchestrator.lead.lead import Lead
from orchestrator.lead.leading import HostOfLead
from tests.support.last_step import LastStep

ENDED_BEFORE = "the start came to its end"


def counted(last: LastStep) -> None:
    """Starts of teammates in this process are counted."""
    spawn, begin, popen = HostOfLead._spawn, Lead._begin, subprocess.Popen

    def spawned(self: HostOfLead, args: dict[str, Any]) -> str:
        last.begin()
        return spawn(self, args)

    def begun(self: Lead, *arguments: Any) -> None:
        begin(self, *arguments)
        last.end()
        sys.stderr.write(f"{ENDED_BEFORE}\n")

    class Started(popen):  # type: ignore[misc,valid-type]
        """A process that was started, and not been told anything yet."""

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            if "--spawn-id" in arguments[0]:
                last.step()

    for holder, name, instead in (
        (HostOfLead, "_spawn", spawned),
        (Lead, "_begin", begun),
        (subprocess, "Popen", Started),
    ):
        setattr(holder, name, instead)


if __name__ == "__main__":
    counted(LastStep(int(sys.argv.pop(1))))
    main()
