"""The command `leadhand` on a wall clock that a test moves: SHIFT_FILE names the file with the seconds."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from coordination.clock import SystemClock
from orchestrator.cli.main import main


def now(_: SystemClock) -> datetime:
    file = Path(os.environ["SHIFT_FILE"])
    shift = file.read_text(encoding="utf-8") if file.exists() else ""  # a moment before it is written: ""
    return datetime.now(UTC) + timedelta(seconds=float(shift or 0))  # noqa: TID251 - the clock that is moved


if __name__ == "__main__":
    setattr(SystemClock, "now", now)  # noqa: B010 - the injected clock of the whole process
    main()
