"""Teams whose model fails: it is overloaded for long, or no network leads to it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from tests.support.team_process import SET_A

if TYPE_CHECKING:
    from tests.process.conftest import Stages


FORTY = "^write_file( list_tasks){39}"
OVERLOADED_LATER = f"""
  - when: {{tools_called: '^$'}}
    call: {{write_file: {{path: a.py, content: a = 2}}}}
  - when: {{tools_called: '{FORTY}$'}}
    times: 5
    fault: overloaded
  - when: {{tools_called: '{FORTY}$'}}
    call: {{complete_task: {{summary: a is 2}}}}
  - when: {{tools_called: 'complete_task$'}}
    say: Done.
  - call: {{list_tasks: {{}}}}
"""
LEADS = "  - {when: {system: role=lead}, say: It is 2 already.}"


def test_after_five_overloads_the_task_is_released_with_its_work_and_transcript_kept(  # S13
    staged: Stages,
) -> None:  # W31
    stage = staged(OVERLOADED_LATER)
    run = stage.start_tasks(SET_A)
    ended = run.end()
    assert ended.code == 0, ended
    waits = [event["seconds"] for event in stage.events("model_waits")]
    assert 0.5 <= waits[0] <= 0.625
    assert 1.0 <= waits[1] <= 1.25
    assert "no reply" in stage.events("released")[0]["why"]
    history = stage.history("set a")
    assert history.count("claim") == 2
    assert "release" in history
    assert stage.task("set a").attempts == 0  # a stop is no attempt
    alice = stage.task("set a").owner
    lines = stage.journal(f"{alice}~2")
    conversations = [place for place, line in enumerate(lines) if line["kind"] == "conversation"]
    assert sum(line["kind"] == "assistant" for line in lines[: conversations[1]]) == 40
    released = next(v for _, v in stage.stores.tasks.history(stage.task("set a").id) if v.event == "release")
    assert released.commit
    assert stage.person.git("show", f"{released.commit}:a.py") == "a = 2"


def test_after_two_overloads_a_teammate_goes_on_with_the_fallback(staged: Stages) -> None:  # S13
    stage = staged(
        OVERLOADED_LATER.replace("times: 5", "times: 4") + "\nmodels: [scripted, small]\n",
        FALLBACK_MODEL_ID="small",
    )
    ended = stage.start_tasks(SET_A).end()
    assert ended.code == 0, ended
    assert len(stage.events("model_waits")) == 4
    assert stage.events("model_changed")[0]["model"] == "small"
    owner = stage.stores.roster.member(stage.owner("set a"))
    assert owner
    assert owner.model == "small"
    assert stage.history("set a").count("claim") == 1
    assert {call["model"] for call in stage.events("model_call")} == {"scripted", "small"}


def test_without_a_network_the_run_ends_with_1_says_so_and_can_be_resumed(staged: Stages) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}"
    stage = staged(LEADS)
    there = stage.environment["ANTHROPIC_BASE_URL"]
    stage.environment["ANTHROPIC_BASE_URL"] = nowhere
    ended = stage.leadhand("run", "set a to 2", "--yes")
    assert ended.code == 1, ended
    assert f"no model answers at {nowhere}" in ended.out
    assert "`leadhand resume` goes on" in ended.out
    assert "Traceback" not in ended.err
    assert stage.stores.runs.open_run()
    stage.environment["ANTHROPIC_BASE_URL"] = there
    again = stage.leadhand("resume")
    assert again.code == 0, again
    assert "It is 2 already." in again.out


def test_a_wrong_key_ends_with_2_and_leaves_no_open_run(staged: Stages) -> None:
    stage = staged(LEADS, ANTHROPIC_API_KEY="wrong")
    ended = stage.leadhand("run", "set a to 2", "--yes")
    assert (ended.code, "refused the key" in ended.complaint) == (2, True)
    assert stage.stores.runs.open_run() is None
