"""A server of tmux that lasts as long as a test, with nothing of the person's settings."""

from __future__ import annotations

import os
import shutil
import subprocess  # noqa: TID251 - the server is a program of other people
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@contextmanager
def in_tmux(command: Sequence[str], place: Path) -> Iterator[list[str]]:
    """How the command is run in a window of its own; skips the test where there is no tmux."""
    if (program := shutil.which("tmux")) is None:
        pytest.skip("tmux is not installed")
    settings = place / "tmux.conf"
    settings.write_text("set -g status off\n", encoding="utf-8")
    server = [program, "-L", f"leadhand-{os.getpid()}", "-f", str(settings)]
    try:
        yield ["env", "-u", "TMUX", *server, "new-session", *command]  # also where one runs the tests
    finally:
        subprocess.run([*server, "kill-server"], check=False, capture_output=True)
