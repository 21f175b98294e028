"""The demo, as a newcomer runs it."""

from __future__ import annotations

import os
import subprocess  # noqa: TID251 - the command as a person starts it
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def test_the_demo_shows_all_that_it_promises_and_goes_away(tmp_path: Path) -> None:
    def leadhand(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "orchestrator.cli.main", *arguments]
        environment = {**os.environ, "LEADHAND_SANDBOX": "off"}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=230
        )

    shown = leadhand("demo")
    assert (shown.returncode, shown.stderr) == (0, ""), (
        shown.stdout
    )  # it ends with an error if anything did not happen
    assert list((tmp_path / "leadhand-demo" / ".tasks").glob("task_*.json"))
    assert (tmp_path / "leadhand-demo" / "mailboxes" / "lead.jsonl").exists()
    assert leadhand("demo", "--clean").returncode == 0
    assert list(tmp_path.iterdir()) == []
