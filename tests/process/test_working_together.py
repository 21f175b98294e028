"""Mail into running work, and names that are taken (scenarios S1, S4 and S5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout

if TYPE_CHECKING:
    from tests.process.conftest import Stages


CHANGE_OF_PLAN = """
  - when: {system: role=lead, tools_called: ^$}
    call:
      - create_task: {subject: write, description: Write it., checks: [any]}
      - spawn_teammate: {name: writer}
      - spawn_teammate: {name: writer}
      - spawn_teammate: {name: Writer}
  - when: {system: role=lead, last_user: from="person, tools_called: spawn_teammate$}
    call: {send_message: {to: writer, content: 'stop, change of plan'}}
  - when: {system: role=teammate, last_user: change of plan, tools_called: bash$}
    call: {complete_task: {summary: stopped as told}}
  - when: {system: role=teammate, tools_called: ^bash bash bash$}
    call: {bash: {command: '@WAIT@'}}
  - when: {system: role=teammate, tools_called: '^(bash ?){0,49}$'}
    call: {bash: {command: echo step}}
  - say: Good.
"""


ANSWERED_AT_ONCE = """
  - when: {system: role=lead, tools_called: ^$}
    call:
      - create_task: {subject: paint, description: Paint it., checks: [any]}
      - spawn_teammate: {name: painter}
  - when: {system: role=lead, last_user: which colour, tools_called: spawn_teammate$}
    call: {send_message: {to: painter, content: blue}}
  - when: {system: role=teammate, tools_called: ^$}
    call: {send_message: {to: lead, content: 'which colour?'}}
  - when: {system: role=teammate, tools_called: ^send_message$}
    call: {bash: {command: '@WAIT@'}}
  - when: {system: role=teammate, last_user: blue, tools_called: bash$}
    say: Blue it is.
  - when: {system: role=teammate, tools_called: bash$}
    call: {complete_task: {summary: painted}}
  - say: Good.
"""


LEFT_UNANSWERED = """
  - when: {system: role=lead, tools_called: ^$}
    call: {create_task: {subject: paint, description: Paint it., checks: [any]}}
  - when: {system: role=lead, last_result: 'created (?P<task>task_\\w+)'}
    call:
      - spawn_teammate: {name: helper}
      - spawn_teammate: {name: painter, task_id: '${task}'}
  - when: {system: name=painter, tools_called: ^$}
    call: {send_message: {to: helper, content: 'which colour?'}}
  - when: {system: name=painter, last_user: type="no_answer"}
    call: {complete_task: {summary: painted in any}}
  - when: {system: name=helper, last_user: which colour}
    say: Blue, I should think.
  - say: Good.
"""


SAID_TO_NOBODY = """
  - when: {system: role=lead, tools_called: ^$}
    call:
      - create_task: {subject: paint, description: Paint it., checks: [any]}
      - spawn_teammate: {name: painter}
  - when: {system: role=lead, last_user: '"answers_wait">\\spainter', tools_called: spawn_teammate$}
    call: {send_message: {to: painter, content: blue}}
  - when: {system: role=lead, last_user: which colour}
    say: Blue.
  - when: {system: role=teammate, tools_called: ^$}
    call: {send_message: {to: lead, content: 'which colour?'}}
  - when: {system: role=teammate, last_user: blue}
    call: {complete_task: {summary: painted blue}}
  - say: Good.
"""


def test_a_lead_that_answers_in_words_that_reach_nobody_is_told_once_who_waits(staged: Stages) -> None:
    stage = staged(SAID_TO_NOBODY)
    ended = stage.start("run", "paint", "--yes", "--json").end()
    assert ended.code == 0, ended  # long before anybody's patience for an answer is over
    assert len([line for line in stage.journal("lead~1") if "answers_wait" in line.get("text", "")]) == 1


def test_who_asks_somebody_idle_goes_on_when_its_turn_ends_without_an_answer(staged: Stages) -> None:
    stage = staged(LEFT_UNANSWERED)
    ended = stage.start("run", "paint", "--yes", "--json").end()
    assert ended.code == 0, ended  # long before anybody's patience for an answer is over


def test_an_answer_that_came_within_its_turn_is_not_waited_for_again_and_the_lead_hears_of_the_end_once(
    staged: Stages,
) -> None:
    stage = staged(ANSWERED_AT_ONCE)
    run = stage.start("run", "paint", "--yes", "--json")
    stage.wait((stage.root / layout.sent("painter", "lead~1")).exists)
    stage.let_go()
    ended = run.end()  # long before anybody's patience for an answer is over
    assert ended.code == 0, ended
    ends = [line for line in stage.journal("lead~1") if 'type="drained"' in line.get("text", "")]
    assert len(ends) == 1


def test_s1_s4_s5_mail_reaches_a_busy_worker_before_its_next_call_once_and_its_name_is_its_own(
    staged: Stages,
) -> None:
    stage = staged(CHANGE_OF_PLAN)
    run = stage.start("run", "write", "--yes", "--json")
    stage.wait(lambda: len(stage.events("model_call", tools=["bash"])) == 4, "the long call")
    assert stage.leadhand("send", "lead", "tell the writer to stop").code == 0
    letter = stage.root / layout.sent("writer", "lead~1")
    stage.wait(letter.exists)
    stage.let_go()
    ended = run.end()
    assert ended.code == 0, ended

    kinds = [line["kind"] for line in stage.journal("writer~2")]
    mail = kinds.index("mail")
    assert kinds.count("mail") == 1
    assert kinds[:mail].count("assistant") == 4
    assert (kinds[mail - 1], kinds[mail + 1]) == ("tool_results", "assistant")

    first = next(line["content"] for line in stage.journal("lead~1") if line["kind"] == "tool_results")
    assert [result.get("is_error", False) for result in first] == [False, False, True, True]
    assert "name_taken" in first[2]["content"]
    assert stage.stores.roster.names() == ["writer"]
