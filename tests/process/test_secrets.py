"""No credential reaches what agents and repositories run, whichever way it is started."""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251 - a shell of the person
import sys
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from tests.support.mcp import FAULTY
from tests.support.sandbox import needs_sandbox

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.conftest import Stages


KEY = "sk-very-secret-of-pat"
# Looks wherever an environment can be read, its own parents' and that of every process it sees.
PROBE = """\
for place in /proc/[0-9]*/environ /proc/$PPID/environ /proc/self/../*/environ; do
  cat $place
done 2>/dev/null | tr '\\0' '\\n' | grep -q 'sk-very-''secret' && { echo "$1 LEAKED" >&2; exit 2; }
env | grep -q 'sk-very-''secret' && { echo "$1 LEAKED" >&2; exit 2; }
exit 0
"""
SETTINGS = """\
checks: {leak: sh probe.sh check}
worktrees: {setup: [sh probe.sh setup]}
hooks:
  PreToolUse: [{hooks: [{type: command, command: sh ./probe.sh hook}]}]
"""
LOOKS = """
  - when: {system: role=teammate, tools_called: ^$}
    call:
      - bash: {command: sh probe.sh shell}
      - bash: {command: 'echo sk-very-secret-of-pat'}
      - connect_mcp: {name: faulty}
      - write_file: {path: a.py, content: a = 2}
  - when: {system: role=teammate, tools_called: write_file$}
    call: {complete_task: {summary: looked}}
  - say: Done.
"""
TASK = {"key": "a", "subject": "look", "checks": ["leak"]}


@pytest.mark.parametrize("sandbox", ["off", pytest.param("bwrap", marks=needs_sandbox)])
def test_no_credential_reaches_shell_hook_check_setup_or_server(staged: Stages, sandbox: str) -> None:
    stage = staged(
        LOOKS,
        ANTHROPIC_API_KEY=KEY,
        MY_SERVICE_TOKEN=KEY,
        LEADHAND_SANDBOX=sandbox,
        LEADHAND_PERMISSIONS_ALLOW="bash,connect_mcp",
    )
    server = {"command": "sh", "args": ["-c", f"sh probe.sh server && exec {sys.executable} -P server.py"]}
    files = {
        "leadhand.yaml": SETTINGS,
        "probe.sh": PROBE,
        "server.py": FAULTY.read_text("utf-8"),
        ".mcp.json": json.dumps({"mcpServers": {"faulty": server}}),
    }
    stage.person.write(files)
    stage.person.git("add", "--all")
    stage.person.git("commit", "--quiet", "--message", "Look")
    ended = stage.start_tasks(TASK, options=("--json", "--no-input")).end()
    said = ended.out + "".join(map(str, stage.journal(stage.events("claimed")[0]["who"])))
    assert "LEAKED" not in said
    assert ended.code == 0, ended
    assert [event["tool"] for event in stage.events("tool_ran")][:4] == [
        *("bash", "bash", "connect_mcp", "write_file")
    ]
    (connected,) = stage.events("mcp_connected")
    assert connected["sandboxed"] == (sandbox == "bwrap")
    for place in (layout.EVENTS, layout.TRANSCRIPTS, layout.LOGS):
        for file in (stage.root / place).iterdir():
            assert KEY not in file.read_text("utf-8", "replace"), file


def test_the_probe_finds_what_is_there_to_be_found(tmp_path: Path) -> None:
    # Without us in between. Another word, since the test above may look at this very process.
    (tmp_path / "probe.sh").write_text(PROBE.replace("sk-very-", "sk-found-"), encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-found-secret"}
    ran = subprocess.run(
        ["sh", "probe.sh", "person"], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (2, b"person LEAKED\n")
