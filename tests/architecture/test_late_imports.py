"""What costs seconds to import comes late: a listing command and a joining teammate never pay for it."""

from __future__ import annotations

import subprocess  # noqa: TID251 - a fresh interpreter knows what an import drags in
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SLOW = ("anthropic", "mcp", "pydantic", "httpx2", "git", "jsonschema", "pathspec", "wcmatch")
SHOW = f"import sys; print([name for name in {SLOW!r} if name in sys.modules])"


@pytest.mark.parametrize(
    "module",
    [
        "orchestrator.cli.main",
        "orchestrator.cli.look, orchestrator.inspection.status",
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


EVERYTHING = """
import importlib, os, pkgutil, threading
for name in ("coordination", "harness", "workspace", "agent_worker", "orchestrator"):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
print(threading.active_count(), os.listdir())
"""


def test_an_import_starts_nothing_and_makes_nothing(tmp_path: Path) -> None:  # T9, T64, T75
    run = subprocess.run(
        [sys.executable, "-P", "-c", EVERYTHING],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    assert run.stdout.strip() == "1 []"
