"""What a process was given in its environment is not found by others."""

from __future__ import annotations

import subprocess  # noqa: TID251 - the process that conceals
import sys

import pytest

CODE = """
import ctypes, os
from pathlib import Path
from coordination.concealment import conceal
conceal()
print(Path("/proc/self/environ").read_text().replace(chr(0), " "))
print("own:", os.environ["MY_API_KEY"], os.environ["PLAIN"])
print("dumpable:", ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_values_that_open_something_are_gone_from_proc_and_kept_for_the_process() -> None:
    environment = {"MY_API_KEY": "sk-secret", "DB_PASSWORD": "pass-secret", "PLAIN": "seen", "PATH": "/bin"}
    ran = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True
    )
    shown, own, dumpable = ran.stdout.splitlines()
    assert "secret" not in shown
    assert "PLAIN=seen" in shown
    assert own == "own: sk-secret seen"
    assert dumpable == "dumpable: 0"
