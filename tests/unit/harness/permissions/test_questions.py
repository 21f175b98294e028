"""A call that needs a person: who is asked, who answers, and what holds afterwards."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from coordination.approvers import attached, is_somebody_attached
from coordination.errors import StateUnwritable
from coordination.protocols import PERSON
from coordination.records import Verdict
from coordination.requests import AlreadyDecided
from coordination.stores import open_stores
from harness.off_loop import OffLoop
from harness.permissions.answers import Answers, NothingToForget, Scope
from harness.permissions.canonical import question_of
from harness.permissions.questions import Answer, Patience, PersonAsked
from harness.pulse import Pulse
from harness.tool import ToolFailure
from orchestrator.terminal.approvals import Approvals
from tests.support.people import comes_alive, leads, stores_of

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.records import Decision
    from coordination.stores import Stores
    from coordination.team_root import Team

pytestmark = pytest.mark.anyio
PUSH = question_of("bash", {"command": "git push"}, why="git push sends work out")


class Asking:
    """Alice, whose calls need a person, and the person."""

    def __init__(self, team: Team, answers: Path) -> None:
        leads(team)
        self.team = team
        self.answers = Answers(answers, team.id)
        self.alice = stores_of(team, comes_alive(team, "alice"))
        self.bob = stores_of(team, comes_alive(team, "bob"))
        self.person = Approvals(open_stores(team, PERSON), self.answers)

    def asked(self, stores: Stores, seconds: float = 60.0) -> PersonAsked:
        patience = Patience(deadline_seconds=seconds, progress=lambda: None, task=lambda: "task_00000001")
        return PersonAsked(stores, off_loop=OffLoop(), pulse=Pulse(), patience=patience, answers=self.answers)

    async def until_open(self, number: int = 1) -> str:
        """The id of the first question, once so many like ones wait."""
        while True:
            groups = self.person.open()
            if groups and len(groups[0].questions) == number:
                return groups[0].first.id
            await anyio.lowlevel.checkpoint()


@pytest.fixture
def asking(team: Team, tmp_path: Path) -> Asking:
    return Asking(team, tmp_path / "answers")


async def test_nobody_is_waited_for_where_nobody_looks(asking: Asking) -> None:  # T117
    answer = await asking.asked(asking.alice).answer(PUSH)
    assert (answer.allowed, answer.reason) == (False, "nobody_to_ask")
    assert asking.person.open() == []


@pytest.mark.parametrize(
    ("verdict", "allowed", "reason"),
    [(Verdict.APPROVE, True, "approved"), (Verdict.DENY, False, "denied")],
)
async def test_one_answer_decides_all_like_questions(
    asking: Asking, verdict: Verdict, *, allowed: bool, reason: str
) -> None:
    got: list[Answer] = []

    async def ask(stores: Stores) -> None:
        got.append(await asking.asked(stores).answer(PUSH))

    with attached(asking.team):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, asking.alice)
            group.start_soon(ask, asking.bob)
            first = await asking.until_open(2)
            [shown] = asking.person.open()
            assert (sorted(shown.askers), shown.what) == (["alice", "bob"], "git push")
            assert (shown.why, shown.first.task) == ("git push sends work out", "task_00000001")
            asking.person.decide(first, verdict, reason="not yet")
    assert [(answer.allowed, answer.reason) for answer in got] == [(allowed, reason)] * 2


async def test_without_an_answer_the_deadline_says_no_and_closes_the_question(asking: Asking) -> None:  # W16
    with attached(asking.team):
        answer = await asking.asked(asking.alice, seconds=0.05).answer(PUSH)
    assert (answer.allowed, answer.reason) == (False, "deadline")
    assert asking.person.open() == []
    [request] = asking.team.directory.names(".team/requests")
    with pytest.raises(AlreadyDecided):
        asking.person.decide(request, Verdict.APPROVE)


async def test_a_cancelled_call_withdraws_its_question(asking: Asking) -> None:
    with attached(asking.team):
        async with anyio.create_task_group() as group:
            group.start_soon(asking.asked(asking.alice).answer, PUSH)
            await asking.until_open()
            group.cancel_scope.cancel()
    assert asking.person.open() == []


def no_room(*_: object, **__: object) -> None:
    raise StateUnwritable.of("2.json", OSError(errno.ENOSPC, "no space"))


async def decided(asking: Asking, verdict: Verdict, scope: Scope = Scope.ONCE) -> str:
    with attached(asking.team):
        async with anyio.create_task_group() as group:
            group.start_soon(asking.asked(asking.alice).answer, PUSH)
            request = await asking.until_open()
            asking.person.decide(request, verdict, scope=scope)
    return request


async def test_a_denial_holds_for_the_team_until_it_is_forgotten(asking: Asking) -> None:
    request = await decided(asking, Verdict.DENY)
    same = question_of("bash", {"command": "git  'push'"}, why="asked in another form")
    answer = await asking.asked(asking.bob).answer(same)
    assert (answer.allowed, answer.reason) == (False, "denied_before")
    assert answer.text.startswith("person denied it to alice before, for the whole team")
    asking.answers.forget(request)
    assert (await asking.asked(asking.bob).answer(same)).reason == "nobody_to_ask"
    with pytest.raises(NothingToForget):
        asking.answers.forget(request)


async def test_a_denial_holds_from_the_moment_in_which_it_can_be_seen(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    requests = asking.person._stores.requests
    decide = requests.decide

    def seen(request: str, verdict: Verdict, **facts: Any) -> Decision:
        held.append(asking.answers.to(PUSH.digest) is not None)
        return decide(request, verdict, **facts)

    monkeypatch.setattr(requests, "decide", seen)
    await decided(asking, Verdict.DENY)
    assert held == [True]


@pytest.mark.parametrize(
    ("first", "later", "stands"),
    [(Verdict.DENY, Verdict.APPROVE, [False]), (Verdict.APPROVE, Verdict.DENY, [])],
)
async def test_of_two_answers_at_once_the_later_leaves_nothing(
    asking: Asking, monkeypatch: pytest.MonkeyPatch, *, first: Verdict, later: Verdict, stands: list[bool]
) -> None:
    elsewhere = Approvals(open_stores(asking.team, PERSON), asking.answers)
    decide = elsewhere._stores.requests.decide

    def overtaken(request: str, verdict: Verdict, **facts: Any) -> Decision:
        asking.person.decide(request, first, reason="I was first")
        return decide(request, verdict, **facts)

    monkeypatch.setattr(elsewhere._stores.requests, "decide", overtaken)
    with attached(asking.team):
        async with anyio.create_task_group() as group:
            group.start_soon(asking.asked(asking.alice).answer, PUSH)
            request = await asking.until_open()
            with pytest.raises(AlreadyDecided):
                elsewhere.decide(request, later, scope=Scope.ALWAYS)
    assert [answer.allow for answer in asking.answers.all()] == stands


@pytest.mark.parametrize(("scope", "elsewhere"), [(Scope.TEAM, False), (Scope.ALWAYS, True)])
async def test_an_answer_for_more_than_once_needs_no_second_question(
    asking: Asking, tmp_path: Path, *, scope: Scope, elsewhere: bool
) -> None:
    await decided(asking, Verdict.APPROVE, scope)
    assert (await asking.asked(asking.bob).answer(PUSH)).allowed
    assert not (
        await asking.asked(asking.bob).answer(question_of("bash", {"command": "git push x"}, why=""))
    ).allowed
    other = Answers(tmp_path / "answers", "team_of_others")
    assert bool(other.to(PUSH.digest)) is elsewhere


async def test_an_answer_for_once_does_not_stand(asking: Asking) -> None:
    await decided(asking, Verdict.APPROVE)
    assert asking.answers.all() == []
    assert not (await asking.asked(asking.alice).answer(PUSH)).allowed


async def test_a_no_that_was_cut_short_does_not_outlive_the_yes_that_follows(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    with attached(asking.team):
        async with anyio.create_task_group() as group:
            group.start_soon(asking.asked(asking.alice).answer, PUSH)
            request = await asking.until_open()
            with monkeypatch.context() as full:
                full.setattr(asking.person._stores.requests, "decide", no_room)
                with pytest.raises(StateUnwritable):
                    asking.person.decide(request, Verdict.DENY)
            asking.person.decide(request, Verdict.APPROVE)
    assert asking.answers.all() == []


async def test_standing_answers_are_the_persons_alone_and_damaged_ones_are_passed_over(
    asking: Asking, tmp_path: Path
) -> None:
    request = await decided(asking, Verdict.DENY)
    file = tmp_path / "answers" / f"{request}.json"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    (tmp_path / "answers" / "req_00000000.json").write_text("{")
    assert [answer.id for answer in asking.answers.all()] == [request]


async def test_a_question_of_one_who_is_gone_is_no_longer_open(asking: Asking) -> None:
    asked = asking.asked(asking.alice)._put(PUSH)
    asking.alice.roster.closing("alice", 2)
    asking.alice.roster.closed("alice", 2, {})
    assert asking.person.open() == []
    with pytest.raises(ToolFailure, match="alice~2 is gone"):
        asking.person.decide(asked.id, Verdict.APPROVE)


def test_a_process_is_attached_only_while_it_runs(team: Team) -> None:
    assert not is_somebody_attached(team)
    with attached(team):
        assert is_somebody_attached(team)
        (team.root / ".team/approvers/odd.json").write_text("{")
        assert is_somebody_attached(team)
    assert not is_somebody_attached(team)


def test_what_a_dead_process_left_is_removed(team: Team) -> None:
    with attached(team):
        (path,) = (team.root / ".team/approvers").iterdir()
        left = path.with_name("left.json")
        left.write_text(path.read_text().replace('"started":"', '"started":"9'))
        assert is_somebody_attached(team)
        assert not left.exists()
