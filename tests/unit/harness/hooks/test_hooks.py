"""Hooks as scripts and callables: what they are told, what they may do, and what their failures do."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from coordination.errors import StateUnwritable
from harness.assembly import workspace_tools
from harness.hooks.configured import BadHook, hooks_of, to_raw
from harness.hooks.events import Event
from harness.hooks.gate import HookGate
from harness.hooks.hook_set import HookSet, Surroundings
from harness.hooks.outcome import Outcome, Says
from harness.hooks.turn import TurnHooks
from harness.loop import Incoming
from harness.permissions.guard import PermissionGuard
from harness.permissions.questions import Answer
from harness.permissions.rules import parse_rules
from harness.permissions.ruling import Policy
from harness.settings.settings import Settings
from harness.tool_pool import ToolPool
from tests.support.tools import LIMITS, Person, Trail, call, context, noted_tool

if TYPE_CHECKING:
    from pathlib import Path

KEEPS = "cat > seen.json"  # writes down what it was told


class Project:
    """A person's checkout with hooks, and an agent that works beside it."""

    def __init__(self, place: Path) -> None:
        self.checkout, self.tree = place / "checkout", place / "tree"
        self.checkout.mkdir()
        self.tree.mkdir()
        self.trail, self.person = Trail(), Person()
        self.raw: dict[str, Any] = {}

    def hook(self, event: Event, command: str, matcher: str = "", **fields: Any) -> None:
        """One more hook is configured."""
        one = {"type": "command", "command": command, **fields}
        self.raw.setdefault(str(event), []).append({"matcher": matcher, "hooks": [one]})

    @property
    def hooks(self) -> HookSet:
        where = Surroundings(
            project=self.checkout, session="alice~2", transcript=self.tree, role="teammate", team="team_1"
        )
        return HookSet(hooks_of(self.raw), where, context=context(self.tree), record=self.trail)

    def calls(self, name: str, /, *, rules: bool = False, **arguments: Any) -> str:
        """The result of a call, behind the gate of hooks and with `rules` that of permissions."""
        hooks = self.hooks
        tools = [*workspace_tools(Settings(), None), noted_tool([], "create_task")]
        policy = Policy(rules=parse_rules(allow=["bash"], ask=(), deny=()))
        guard = PermissionGuard(policy, lambda: self.tree, self.person, root=self.checkout)
        over = ToolPool(
            tools,
            [*([guard] if rules else []), HookGate(hooks, self.person, task=lambda: "task_00000001")],
            context=replace(context(self.tree)),
            record=self.trail,
            limits=LIMITS,
            hooks=hooks,
        )
        [result] = anyio.run(over.run, [call(name, **arguments)])
        return str(result["content"])

    def told(self) -> dict[str, Any]:
        """What a hook that keeps it was told."""
        told: dict[str, Any] = json.loads((self.checkout / "seen.json").read_text())
        return told


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_script_is_told_of_a_call_in_the_words_it_knows(project: Project) -> None:
    project.hook(Event.PRE_TOOL_USE, KEEPS, "Write")
    project.calls("write_file", path="a/b.py", content="x")
    told = project.told()
    assert {name: told[name] for name in ("hook_event_name", "tool_name", "session_id", "cwd")} == {
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "session_id": "alice~2",
        "cwd": str(project.tree),
    }
    assert told["tool_input"] == {"file_path": f"{project.tree}/a/b.py", "content": "x"}


@pytest.mark.parametrize(
    ("matcher", "asked"),
    [
        *[("", True), ("*", True), ("Bash", True), ("bash", True), ("Edit|Bash", True), ("Ba.*", True)],
        *[("Write", False), ("Bas", False), ("mcp__.*", False), ("BASH", False)],
    ],
)
def test_a_matcher_is_a_regular_expression_over_the_whole_name(
    project: Project, matcher: str, *, asked: bool
) -> None:
    project.hook(Event.PRE_TOOL_USE, "echo no >&2; exit 2", matcher)
    assert project.calls("bash", command="echo hi").startswith("[hook/blocked]") is asked


def test_exit_code_2_blocks_and_its_stderr_is_the_reason(project: Project) -> None:
    project.hook(Event.PRE_TOOL_USE, "echo 'use rg instead' >&2; exit 2", "Bash")
    assert project.calls("bash", command="grep x").endswith("use rg instead")
    assert not (project.tree / "x").exists()


@pytest.mark.parametrize(
    ("said", "begins"),
    [
        (
            {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}},
            "[hook/blocked]",
        ),
        ({"decision": "block", "reason": "no"}, "[hook/blocked]"),
        ({"hookSpecificOutput": {"permissionDecision": "deny"}, "systemMessage": "no"}, "[hook/blocked]"),
        ({"continue": False, "stopReason": "no"}, "[hook/blocked]"),
        ({"hookSpecificOutput": {"permissionDecision": "ask"}}, "[hook/nobody_to_ask]"),
        ({"hookSpecificOutput": {"permissionDecision": "allow"}}, "hi"),
        ({"decision": "approve"}, "hi"),
        ({}, "hi"),
        ({"hookSpecificOutput": {"permissionDecision": "perhaps"}}, "[hook/hook_failed]"),
        ({"hookSpecificOutput": {"updatedInput": "rm x"}}, "[hook/hook_failed]"),
    ],
)
def test_a_decision_in_json_tightens_and_never_loosens(
    project: Project, said: dict[str, Any], begins: str
) -> None:
    project.hook(Event.PRE_TOOL_USE, f"echo '{json.dumps(said)}'")
    assert project.calls("bash", command="echo hi").startswith(begins)


def says(**own: Any) -> str:
    return f"echo {shlex.quote(json.dumps({'hookSpecificOutput': own}))}"


def test_a_hook_may_change_the_input_and_the_model_is_told(project: Project) -> None:
    project.hook(Event.PRE_TOOL_USE, says(permissionDecision="allow", updatedInput={"command": "echo ho"}))
    assert project.calls("bash", command="echo hi") == (
        'ho\n[hook/changed] a hook of the person changed the input to {"command": "echo ho"}'
    )
    assert [event["action"] for event in project.trail.events] == ["input_changed", "tool_ran"]


def test_a_changed_input_has_the_names_of_scripts(project: Project) -> None:
    updated = {"file_path": f"{project.tree}/b.txt", "content": "y"}
    project.hook(Event.PRE_TOOL_USE, says(updatedInput=updated), "Write")
    project.calls("write_file", path="a.txt", content="x")
    assert [path.name for path in project.tree.iterdir()] == ["b.txt"]


def test_a_changed_input_is_judged_anew_by_schema_rules_and_later_hooks(project: Project) -> None:
    project.hook(Event.PRE_TOOL_USE, says(updatedInput={"command": "echo ho", "loud": True}))
    assert project.calls("bash", command="echo hi").startswith("[schema/")
    project.raw.clear()
    project.hook(Event.PRE_TOOL_USE, says(updatedInput={"command": "rm -rf /"}))
    assert project.calls("bash", command="echo hi", rules=True).startswith("[permission/")
    project.raw.clear()
    project.hook(Event.PRE_TOOL_USE, says(updatedInput={"command": "echo ho"}))
    project.hook(Event.PRE_TOOL_USE, "grep -q 'echo ho' && { echo 'no ho' >&2; exit 2; }; exit 0")
    assert project.calls("bash", command="echo hi").endswith("no ho")


def test_context_of_a_hook_stands_behind_the_result(project: Project) -> None:
    project.hook(Event.PRE_TOOL_USE, says(additionalContext="mind the gap"))
    assert project.calls("bash", command="echo hi") == "hi\nmind the gap"


def test_a_hook_that_asks_is_answered_by_the_person(project: Project) -> None:
    project.hook(Event.PRE_TOOL_USE, """echo '{"hookSpecificOutput": {"permissionDecision": "ask"}}'""")
    project.person.says = Answer(allowed=True, reason="approved")
    assert project.calls("bash", command="echo hi") == "hi"
    assert project.person.asked[0].shown == "echo hi"


@pytest.mark.parametrize(
    ("command", "failure"),
    [
        ("exit 1", "ended with status 1"),
        ("sleep 300", "did not end in time"),
        ("echo '{\"decision\":'", "printed broken JSON"),
        ("echo '{\"decision\": [1]}'", "printed a decision that nobody knows"),
        ("no-such-program", "ended with status 127"),
        ("kill -9 $$", "ended with status"),
    ],
)
def test_s27_a_guarding_hook_that_fails_blocks_and_is_named(
    project: Project, command: str, failure: str
) -> None:
    project.hook(Event.PRE_TOOL_USE, command, timeout=0.3 if command.startswith("sleep") else 30)
    result = project.calls("bash", command="touch ran")
    assert result.startswith(f"[hook/hook_failed] PreToolUse hook {command!r}: {failure}")
    assert not (project.tree / "ran").exists()


def test_hooks_are_asked_in_their_order_and_the_first_objection_ends_the_chain(project: Project) -> None:
    project.hook(Event.PRE_TOOL_USE, "echo one >> order")
    project.hook(Event.PRE_TOOL_USE, "echo two >> order; echo two >&2; exit 2")
    project.hook(Event.PRE_TOOL_USE, "echo three >> order")
    assert project.calls("bash", command="echo hi").endswith(": two")
    assert (project.checkout / "order").read_text() == "one\ntwo\n"
    assert [event["hook"] for event in project.trail.events if event["action"] == "hook_objected"] == [
        "echo two >> order; echo two >&2; exit 2"
    ]


def test_before_a_call_the_call_and_after_it_run_in_this_order_and_nothing_after_a_denial(
    project: Project,
) -> None:  # T27
    order = project.checkout / "order"
    project.hook(Event.PRE_TOOL_USE, "echo before >> order")
    project.hook(Event.POST_TOOL_USE, f"echo after >> order; {KEEPS}")
    assert project.calls("bash", command=f"echo ran | tee -a {order}") == "ran"
    assert order.read_text() == "before\nran\nafter\n"
    assert project.told()["tool_response"] == "ran"
    project.hook(Event.PRE_TOOL_USE, "exit 2")
    order.unlink()
    assert project.calls("bash", command=f"echo ran >> {order}").startswith("[hook/blocked]")
    assert order.read_text() == "before\n"


def test_a_relative_script_is_that_of_the_person_and_not_of_the_agents_tree(project: Project) -> None:
    (project.checkout / "check.sh").write_text("echo the real one >&2; exit 2\n")
    (project.tree / "check.sh").write_text("exit 0\n")
    project.hook(Event.PRE_TOOL_USE, "sh ./check.sh")
    assert project.calls("bash", command="echo hi").endswith("the real one")


def test_a_hook_sees_no_credential_and_knows_the_project(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    project.hook(Event.PRE_TOOL_USE, 'env > environment; echo "$CLAUDE_PROJECT_DIR" > where')
    project.calls("bash", command="echo hi")
    assert "sk-secret" not in (project.checkout / "environment").read_text()
    assert (project.checkout / "where").read_text().strip() == str(project.checkout)


def test_after_a_call_a_hook_may_remark_on_it_and_not_undo_it(project: Project) -> None:
    script = f"{KEEPS}; echo 'run the formatter' >&2; exit 2"
    project.hook(Event.POST_TOOL_USE, script, "Write|Edit")
    wrote, remark = project.calls("write_file", path="a", content="x").splitlines()
    assert wrote == "Wrote 1 bytes to a"
    assert remark == f"[hook/objected] PostToolUse hook {script!r}: run the formatter"
    assert project.told()["tool_response"] == "Wrote 1 bytes to a"
    assert (project.tree / "a").exists()


def test_a_failing_hook_after_a_call_is_written_down_only(project: Project) -> None:  # T40
    project.hook(Event.POST_TOOL_USE, "exit 1")
    assert project.calls("write_file", path="a", content="x") == "Wrote 1 bytes to a"
    assert [event["action"] for event in project.trail.events] == ["hook_objected", "tool_ran"]


def test_a_fault_around_a_hook_after_a_call_does_not_take_the_result_away(project: Project) -> None:  # T40
    class FullDisk(Trail):
        def __call__(self, action: str, /, **fields: object) -> None:
            if action == "hook_objected":
                raise StateUnwritable(path="events", cause="no space")
            super().__call__(action, **fields)

    project.trail = FullDisk()
    project.hook(Event.POST_TOOL_USE, "exit 1")
    wrote, remark = project.calls("write_file", path="a", content="x").splitlines()
    assert wrote == "Wrote 1 bytes to a"
    assert remark.startswith("[hook/state_unwritable] cannot write events (no space)")
    assert [event["action"] for event in project.trail.events] == ["tool_ran"]


def test_a_call_that_concerns_the_team_has_an_event_of_its_own(project: Project) -> None:
    project.hook(Event.TASK_CREATED, f"{KEEPS}; echo 'name a check' >&2; exit 2")
    assert project.calls("create_task", text="x").endswith("name a check")
    assert project.told()["hook_event_name"] == "TaskCreated"


def test_a_callable_runs_outside_the_host_and_says_no_by_its_reason(project: Project) -> None:
    (project.checkout / "guard.py").write_text(
        "def check(told):\n    return 'not that' if 'x' in told['tool_input']['command'] else None\n"
    )
    project.raw = {"PreToolUse": [{"hooks": [{"type": "python", "python": "guard.py:check"}]}]}
    assert project.calls("bash", command="echo x").endswith("not that")
    assert project.calls("bash", command="echo y") == "y"
    assert "guard" not in sys.modules


# around a turn


async def admitted(project: Project, text: str, kind: str = "user") -> tuple[list[Incoming], str]:
    turn = TurnHooks(project.hooks, record=project.trail, max_vetoes=2)
    return await turn.admit([Incoming(text=text, kind=kind)])


def test_a_persons_words_may_be_stopped_or_added_to(project: Project) -> None:
    project.hook(
        Event.USER_PROMPT_SUBMIT, "grep -q secret && { echo 'no secrets' >&2; exit 2; }; echo 'it is Monday'"
    )
    incoming, refused = anyio.run(admitted, project, "tell the secret")
    assert (incoming, refused.endswith("no secrets")) == ([], True)
    [item], refused = anyio.run(admitted, project, "what day is it?")
    assert item.text.startswith("what day is it?")
    assert item.text.endswith("it is Monday")
    [item], refused = anyio.run(admitted, project, "a secret of the team", "mail")
    assert (item.text, refused) == ("a secret of the team", "")


def test_a_turn_is_kept_going_so_often_and_no_more(project: Project) -> None:
    project.hook(Event.STOP, f"{KEEPS}; echo 'run the tests' >&2; exit 2")
    turn = TurnHooks(project.hooks, record=project.trail, max_vetoes=2)
    said = [anyio.run(turn.objection_to_stop, "done", vetoes) for vetoes in range(3)]
    assert [text.rpartition(": ")[2] for text in said] == ["run the tests", "run the tests", ""]
    assert project.told()["stop_hook_active"] is True
    assert project.trail.events[-1]["action"] == "hook_vetoes_capped"


@pytest.mark.parametrize("command", ["exit 1", "echo '{\"decision\": [1]}'"])
def test_a_stop_hook_that_fails_keeps_nobody(project: Project, command: str) -> None:
    project.hook(Event.STOP, command)
    turn = TurnHooks(project.hooks, record=project.trail, max_vetoes=2)
    assert anyio.run(turn.objection_to_stop, "done", 0) == ""


# the configuration


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ([], "must be a mapping of events"),
        ({"PreTool": []}, "is no event; there are UserPromptSubmit, PreToolUse"),
        ({"Stop": {}}, "must be a list"),
        ({"Stop": [{}]}, "a list `hooks`"),
        ({"Stop": [{"hooks": [{"type": "prompt"}]}]}, "needs `type: command`"),
        ({"Stop": [{"hooks": [{"command": " "}]}]}, "needs `type: command`"),
        ({"Stop": [{"hooks": ["x"]}]}, "must be a mapping"),
        ({"Stop": [{"hooks": [{"command": "x", "timeout": "soon"}]}]}, "timeout must be"),
        ({"Stop": [{"hooks": [{"command": "x", "async": True}]}]}, "does not know async"),
        ({"PreToolUse": [{"matcher": "(", "hooks": [{"command": "x"}]}]}, "no regular expression"),
        ({"Stop": [{"hooks": [{"type": "python", "python": "x"}]}]}, "guard.py:check"),
        ({"Stop": [{"hook": [], "hooks": []}]}, "does not know hook"),
    ],
)
def test_a_hook_that_would_never_be_asked_is_refused(raw: object, says: str) -> None:
    with pytest.raises(BadHook) as caught:
        hooks_of(raw)
    assert says in str(caught.value)


def test_hooks_survive_the_way_to_a_teammate() -> None:
    raw = {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a", "timeout": 5}]}],
        "Stop": [{"hooks": [{"type": "python", "python": "b.py:c"}, {"command": "d"}]}],
    }
    hooks = hooks_of(raw)
    assert hooks_of(json.loads(json.dumps(to_raw(hooks)))) == hooks


def test_nothing_is_started_where_there_are_no_hooks(project: Project) -> None:
    assert not project.hooks.has(Event.STOP)
    assert anyio.run(project.hooks.on, Event.STOP) == Outcome(Says.PASS)
