"""Files that agents and repositories plant are never code of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.process.conftest import Stages


MODULES = ("json", "csv", "email", "anyio", "agent_worker", "sitecustomize", "coordination")
PLANTS = """
  - when: {system: role=teammate, tools_called: ^$}
    call:
      - bash: {command: 'sh plant.sh && echo "a = 2" > a.py'}
      - grep: {pattern: 'a = 2'}
  - when: {system: role=teammate, tools_called: grep$}
    call: {complete_task: {summary: planted}}
  - say: Done.
"""


def test_planted_modules_programs_editor_and_pinentry_are_never_run(staged: Stages) -> None:
    stage = staged(PLANTS)
    alarm = stage.place / "alarm"
    planted = {f"{name}.py": f"open({str(alarm)!r}, 'a').write('{name} ')\n" for name in MODULES}
    programs = {
        name: f"#!/bin/sh\necho {name} >> {alarm}\n" for name in ("git", "rg", "bwrap", "editor", "pinentry")
    }
    stage.person.write({**planted, **{f"bin/{name}": text for name, text in programs.items()}})
    for name in programs:
        (stage.root / "bin" / name).chmod(0o755)
    stage.person.write({"plant.sh": "cp bin/* . && chmod +x git rg && git --version >/dev/null\n"})
    for key, program in (("core.editor", "editor"), ("gpg.program", "pinentry"), ("commit.gpgSign", "true")):
        value = program if program == "true" else str(stage.root / "bin" / program)
        stage.person.git("config", key, value)
    stage.person.git("add", "--all")
    stage.person.git("-c", "commit.gpgSign=false", "commit", "--quiet", "--message", "Plant")
    alarm.unlink(missing_ok=True)
    ended = stage.start_tasks(
        {"key": "a", "subject": "plant", "checks": ["done"]}, options=("--json", "--no-input")
    ).end()
    assert ended.code == 0, ended
    assert not alarm.exists(), alarm.read_text("utf-8")
