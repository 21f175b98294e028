"""What costs seconds to import comes late: a listing command and a joining teammate never pay for it."""

from __future__ import annotations

import subprocess  # noqa: TID251 - a fresh interpreter knows what an import drags in
import sys

import pytest

SLOW = ("anthropic", "mcp", "pydantic", "httpx2", "git", "jsonschema")
SHOW = f"import sys; print([name for name in {SLOW!r} if name in sys.modules])"


@pytest.mark.parametrize(
    "module",
    [
        "orchestrator.cli.main",
        "orchestrator.cli.look, orchestrator.status",
        "orchestrator.cli.act, orchestrator.cli.decide",
        "agent_worker.compose",
    ],
)
def test_nothing_slow_is_imported_before_it_is_needed(module: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"import {module}\n{SHOW}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    assert run.stdout.strip() == "[]"
