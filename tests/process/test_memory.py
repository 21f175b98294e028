"""What one run learns, the next one knows: real processes, real files, a real command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.process.conftest import Stages


RECORD = {
    "type": "project",
    "name": "secret port",
    "description": "the port of the tests",
    "body": "The tests listen on 5433. password: hunter2hunter2",
}
PLAYS = f"""
  - when: {{system: 'role=memory name=worker'}}
    say: '{json.dumps([RECORD])}'
  - when: {{system: role=memory}}
    say: '[]'
  - when: {{system: role=teammate, tools_called: ^$, last_user: 'listen on 5433. password: \\[redacted\\]'}}
    call: {{complete_task: {{summary: I knew the port}}}}
  - when: {{system: role=teammate, tools_called: ^$}}
    say: I looked for a long time and found the port of the tests.
    call: {{complete_task: {{summary: found the port}}}}
  - say: Good.
"""
TASK = {
    "key": "a",
    "subject": "Find the port",
    "description": "Which port do the tests use?",
    "checks": ["any"],
}


def test_a_record_of_one_teammate_reaches_the_next_and_can_be_looked_at(staged: Stages) -> None:
    stage = staged(PLAYS, LEADHAND_MEMORY_EXTRACT="true", LEADHAND_MEMORY_LEAST_CHARACTERS="50")
    assert stage.start_tasks(TASK).end().code == 0
    (stored,) = stage.events("memory_stored")

    listed = json.loads(stage.leadhand("memory", "--json").out)
    (record,) = listed["records"]
    assert (record["id"], record["made_by"], record["task"]) == (
        stored["record"],
        stored["who"],
        stage.task("Find the port").id,
    )
    assert "hunter2" not in "".join(path.read_text() for path in (stage.root / ".memory").glob("*.md"))

    assert stage.start_tasks(TASK).end().code == 0
    results = [task.result.text for task in stage.stores.tasks.all() if task.result]
    assert sorted(results) == ["I knew the port", "found the port"]

    shown = stage.leadhand("memory", "show", "secret-port")
    assert "The tests listen on 5433." in shown.out
    assert stage.leadhand("memory", "audit").code == 0
    (stage.root / ".memory/bad.md").write_bytes(b"\xff")
    audited = stage.leadhand("memory", "audit", "--json")
    assert audited.code == 1
    assert [finding["code"] for finding in json.loads(audited.out)] == ["memory_unusable"]
    assert "memory_unusable" in stage.leadhand("fsck", "--json").out

    assert stage.leadhand("memory", "forget", "secret-port").out == f"forgotten: {record['id']}\n"
    assert "there is no record secret-port" in stage.leadhand("memory", "show", "secret-port").complaint
    assert not list((stage.root / ".memory").glob("secret-port*"))


def test_the_memory_is_kept_out_of_git(staged: Stages) -> None:
    stage = staged("  - say: hi\n")
    stage.init()
    (stage.root / ".memory/ports.md").write_text("Port 5433.")
    assert ".memory" not in stage.person.git("status", "--porcelain")
    assert "ports" in stage.leadhand("memory").out
