"""Money by the price table, what each scope used, and the stop when a limit is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from coordination.events import EventLog, EventsAbout
from coordination.usage import Usage
from harness.loop import Incoming
from harness.models.budget import Budget
from harness.models.ledger import Ledger, used_on
from harness.models.limits import LimitReached, Limits, Spent, reached, shown
from harness.models.prices import BadPrice, PriceTable, parse_price
from harness.settings.settings import Settings
from harness.turn import Ended
from tests.support.model import AgentUnderTest, FakeModel, asks, calls, says

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.team_root import Team
    from harness.models.limited_model import LimitedModel
    from harness.models.model import ModelRequest, Reply
    from tests.support.clock import FakeClock

RUN = "run_00000001"
MILLION = Usage(calls=1, input_tokens=1_000_000)


def used(team: Team, who: str, usage: Usage, *, model: str = "big", task: str = "", run: str = RUN) -> None:
    fields = {name: getattr(usage, name) for name in Usage.__struct_fields__}
    EventLog(team.directory, team.clock, who).record(
        "model_call", usage=fields, model=model, task=task or None, run=run
    )


def ignored(action: str, /, **fields: object) -> None:
    """A `Record` that keeps nothing."""


def test_a_line_of_the_table_has_two_prices_or_four() -> None:
    assert parse_price("big 3 15")[1].of(
        Usage(
            input_tokens=1_000_000,
            output_tokens=1_000_000,
            cache_read_tokens=1_000_000,
            cache_write_tokens=1_000_000,
        )
    ) == pytest.approx(3 + 15 + 0.3 + 3.75)
    assert parse_price("big 1 2 3 4")[1].cache_write == 4


def test_what_is_used_of_each_limit_is_shown() -> None:
    spent = Spent(turns=3, tokens=1_234_567, usd=0.1234, minutes=2.0)
    assert shown(spent, Limits(tokens=2_000_000, usd=5.0)) == "1,234,567 of 2,000,000 tokens, 0.12 of 5.0 usd"
    assert shown(spent, Limits()) == ""


@pytest.mark.parametrize("line", ["big", "big 1", "big 1 2 3", "big a b", "big -1 2", "big nan 2", ""])
def test_a_line_that_is_no_price_is_refused(line: str) -> None:
    with pytest.raises(BadPrice):
        PriceTable([line])


def test_a_model_goes_by_the_longest_name_it_begins_with() -> None:
    table = PriceTable(["big 3 15", "big-fast 6 30"])
    assert table.cost("big-2026", MILLION) == 3
    assert table.cost("big-fast-2026", MILLION) == 6
    assert table.cost("small", MILLION) is None


def test_a_limit_is_reached_when_it_is_used_up_and_says_what_was_used() -> None:
    assert reached(Spent(turns=2), Limits(turns=3)) is None
    assert reached(Spent(turns=3), Limits(turns=3)) == "max_turns 3 (3 used)"
    assert reached(Spent(usd=5.5), Limits(usd=5)) == "max_usd 5 (5.5 used)"
    assert reached(Spent(turns=10**9, tokens=10**9, usd=1e9, minutes=1e9), Limits()) is None


def test_a_ledger_adds_up_by_member_task_and_team_over_incarnations_and_hosts(team: Team) -> None:
    ledger = Ledger(team.directory, PriceTable(["big 3 15"]), run=RUN)
    used(team, "alice~2", MILLION, task="task_1")
    used(team, "alice~5", MILLION, task="task_2")
    used(team, "bob~3", MILLION, task="task_1", model="other")
    used(team, "bob~3", MILLION, run="run_00000002")
    ledger.refresh()
    used(team, "bob~3", MILLION, task="task_1")
    ledger.refresh()
    assert ledger.spent("member", "alice") == Spent(turns=2, tokens=2_000_000, usd=6)
    assert ledger.spent("task", "task_1") == Spent(turns=3, tokens=3_000_000, usd=6)
    assert ledger.spent("team", "") == Spent(turns=4, tokens=4_000_000, usd=9)
    assert (ledger.unpriced, ledger.models["bob"]) == ({"other"}, {"big", "other"})


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("limit", "scope"),
    [
        ({"team_max_turns": 3}, "team"),
        ({"team_max_tokens": 3_000_000}, "team"),
        ({"team_max_usd": 9.0}, "team"),
        ({"member_max_turns": 1}, "member"),
        ({"task_max_usd": 6.0}, "task"),
    ],
)
async def test_each_scope_has_limits_of_its_own(
    team: Team, clock: FakeClock, limit: dict[str, float], scope: str
) -> None:
    settings = Settings(prices=("big 3 15",), **limit)
    budget = Budget(settings, team.directory, clock, bearer="alice~7", run=RUN, record=ignored)
    model = budget.limit(FakeModel(says("a")), lambda: "task_1")
    used(team, "bob~3", MILLION, task="task_1")
    used(team, "bob~3", MILLION)
    assert (await model.reply(asks("go"), lambda _: None)).text == "a"
    used(team, "alice~2", MILLION, task="task_1")
    with pytest.raises(LimitReached) as caught:
        await model.reply(asks("go"), lambda _: None)
    assert caught.value.scope == scope
    assert "`leadhand resume` goes on" in str(caught.value)


class SlowModel(FakeModel):
    """Answers once all calls that will ever run beside each other do so."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__(*replies)
        self.waiting = self.most = 0

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None]) -> Reply:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await anyio.wait_all_tasks_blocked()
        self.waiting -= 1
        return await super().reply(request, on_text)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("limit", "answered"),
    [({"member_max_turns": 4}, 4), ({"team_max_tokens": 30}, 3), ({"team_max_tokens": 10**6}, 9)],
)
async def test_calls_side_by_side_overshoot_no_further_than_one_alone(
    team: Team, clock: FakeClock, limit: dict[str, int], answered: int
) -> None:
    budget = Budget(Settings(**limit), team.directory, clock, bearer="alice~7", run=RUN, record=ignored)
    slow = SlowModel(*[says("a")] * 20)
    model = budget.limit(slow, lambda: "task_1")
    stopped: list[LimitReached] = []

    async def ask(times: int) -> None:
        try:
            for _ in range(times):
                await model.reply(asks("go"), lambda _: None)
        except LimitReached as error:
            stopped.append(error)

    await ask(1)  # one costs 12 tokens, as all others do
    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(ask, 1)
    assert (len(slow.requests), bool(stopped)) == (answered, answered < 9)
    assert slow.most > 1


@pytest.mark.anyio
async def test_limits_and_prices_can_be_changed_and_hold_for_what_was_used_before(
    team: Team, clock: FakeClock
) -> None:
    budget = Budget(Settings(), team.directory, clock, bearer="lead~1", run=RUN, record=ignored)
    model = budget.limit(FakeModel(says("a"), says("b")), lambda: "")
    used(team, "lead~1", MILLION)
    used(team, "bob~3", MILLION)
    await model.reply(asks("go"), lambda _: None)
    budget.change(Settings(prices=("big 3 15",), team_max_usd=6.1))
    assert (await model.reply(asks("go"), lambda _: None)).text == "b"
    budget.change(Settings(prices=("big 3 15",), team_max_usd=6.0))
    with pytest.raises(LimitReached, match=r"limits\.team\.max_usd 6"):
        await model.reply(asks("go"), lambda _: None)


@pytest.mark.anyio
async def test_minutes_count_from_the_begin_of_a_task_and_of_a_member(team: Team, clock: FakeClock) -> None:
    task = "task_1"
    settings = Settings(task_max_minutes=10, member_max_minutes=25)
    budget = Budget(settings, team.directory, clock, bearer="alice~7", run=RUN, record=ignored)
    model = budget.limit(FakeModel(*[says("a")] * 5), lambda: task)
    await model.reply(asks("go"), lambda _: None)
    clock.advance(9 * 60)
    await model.reply(asks("go"), lambda _: None)
    task = "task_2"
    await model.reply(asks("go"), lambda _: None)
    clock.advance(9 * 60)
    await model.reply(asks("go"), lambda _: None)
    clock.advance(2 * 60)
    with pytest.raises(LimitReached, match=r"limits\.task\.max_minutes 10"):
        await model.reply(asks("go"), lambda _: None)
    task = "task_3"
    clock.advance(9 * 60)
    with pytest.raises(LimitReached, match=r"limits\.member\.max_minutes 25"):
        await model.reply(asks("go"), lambda _: None)


def test_what_processes_used_on_a_task_is_summed_up_for_their_successor(team: Team) -> None:
    used(team, "alice~7", MILLION, task="task_1")
    used(team, "alice~9", MILLION, task="task_1")
    used(team, "alice~9", MILLION, task="task_2")
    used(team, "bob~3", MILLION, task="task_1")
    EventLog(team.directory, team.clock, "alice~9").record("model_call", task="task_1", usage="much")
    assert used_on(team.directory, "task_1", ["alice~9", "alice~7"]) == MILLION + MILLION


@pytest.mark.anyio
async def test_minutes_of_a_task_go_on_with_whoever_goes_on_with_it(team: Team, clock: FakeClock) -> None:
    def model_of(bearer: str) -> LimitedModel:
        events = EventsAbout(EventLog(team.directory, clock, bearer), lambda: {"run": RUN, "task": "task_1"})
        settings = Settings(task_max_minutes=10)
        made = Budget(settings, team.directory, clock, bearer=bearer, run=RUN, record=events.record)
        return made.limit(FakeModel(*[says("a")] * 5), lambda: "task_1")

    killed = model_of("alice~7")
    for _ in range(4):
        await killed.reply(asks("go"), lambda _: None)
        clock.advance(3 * 60)
    clock.advance(60 * 60)  # nobody works; what the killed one spent since its last call is not known
    heir = model_of("alice~9")
    await heir.reply(asks("go"), lambda _: None)
    clock.advance(2 * 60)
    with pytest.raises(LimitReached, match=r"limits\.task\.max_minutes 10 \(11 used\)"):
        await heir.reply(asks("go"), lambda _: None)
    clock.advance(60)
    with pytest.raises(LimitReached, match=r"limits\.task\.max_minutes 10"):
        await model_of("bob~3").reply(asks("go"), lambda _: None)


@pytest.mark.anyio
async def test_a_turn_that_meets_a_limit_ends_as_such_and_is_on_record(team: Team) -> None:
    limit = LimitReached(scope="team", what="max_turns 1 (1 used)")
    under = AgentUnderTest(team, FakeModel(calls("look"), limit))
    outcome = await under.agent.run([Incoming(text="go")])
    assert (outcome.ended, outcome.error) == (Ended.LIMIT, limit)
    assert under.events.lines[-1] == {
        "action": "limit_reached",
        "scope": "team",
        "limit": "max_turns 1 (1 used)",
    }
