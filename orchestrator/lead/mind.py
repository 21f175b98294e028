"""What thinks in a lead: its model within limits, what a summary puts back, and limits that were met."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.events import EventTail
from coordination.records import MemberState
from harness.assembly import make_compactor, make_model
from harness.memory.keeper import MemoryKeeper, Rememberer
from harness.memory.store import MemoryStore
from harness.models.budget import Budget, Stopwatch
from harness.models.limits import Spent, reached
from harness.models.throttle import Throttle
from harness.results import ResultFiles
from orchestrator.lead.briefs import present_state
from orchestrator.lead.outcome import ExitCode, ModelGaveUp
from orchestrator.lead.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from coordination.events import EventsAbout
    from coordination.stores import Stores
    from harness.context.compactor import Compactor
    from harness.loop import Agent
    from harness.models.metered_model import MeteredModel
    from harness.models.recovery import Waiting
    from harness.off_loop import OffLoop
    from harness.settings.settings import Settings
    from orchestrator.lead.opening import Opened

LED = "led"  # the event that tells how long a run was led
LEFT_FOR = frozenset({"limit_reached", "setup_failed"})  # events that tell of it
OUT_OF = "{who} has met a limit: limits.{scope}.{limit}; raise it, then `leadhand resume` goes on"


NO_TREE = "{who} could make no tree ready: {error}\nmend that, then `leadhand resume` goes on"


def minutes_led(events: Iterable[dict[str, Any]], run: str) -> float:
    """How long the run was led, as the leads noted it by their own clocks."""
    led = (event.get("seconds") for event in events if (event.get("action"), event.get("run")) == (LED, run))
    return sum(seconds for seconds in led if isinstance(seconds, int | float)) / 60


class Halts:
    """What stops a run although its lead asks nothing of its model: limits, and what only a person mends."""

    def __init__(self, opened: Opened, settings: Settings) -> None:
        self.limits = settings.limits("team")
        self._stopwatch = Stopwatch(opened.team.clock)
        self._note = partial(opened.stores.events.record, LED, run=opened.run.id)
        self._tail = EventTail(opened.team.directory)
        before = self._tail.read_new()  # what was met before this lead is over
        self._minutes_before = minutes_led(before, opened.run.id)
        self._left: dict[str, dict[str, Any]] = {}  # what members left for, the last of each kind

    def halt(self, state: Standing, *, in_session: bool) -> ModelGaveUp | None:
        """Why the run cannot go on; a person in a session need not leave for what they can mend."""
        if state is Standing.STUCK:
            events = self._tail.read_new()
            self._left |= {event["action"]: event for event in events if event.get("action") in LEFT_FOR}
        if limit := self._limit(by_members=state is Standing.STUCK):
            return ModelGaveUp(cause=limit, exit_code=ExitCode.LIMIT)
        broken = self._left.get("setup_failed")
        if broken and state is Standing.STUCK and not in_session:
            return ModelGaveUp(cause=NO_TREE.format_map(broken), exit_code=ExitCode.WAITING)
        return None

    def _limit(self, *, by_members: bool) -> str:
        """The limit met: of the time under all leads, or by a member that left for it under this one."""
        minutes = self._minutes_before + self._stopwatch.minutes()
        if self.limits.minutes is not None and (seconds := self._stopwatch.to_note()):
            self._note(seconds=seconds)
        over_time = reached(Spent(minutes=minutes), self.limits)
        if over_time and over_time.startswith("max_minutes"):
            return OUT_OF.format(who="the team", scope="team", limit=over_time)
        left = self._left.get("limit_reached") if by_members else None
        return OUT_OF.format_map(left) if left else ""


class LeadMind:
    """The model of a lead and what belongs to its conversation. Raises CredentialsMissing."""

    def __init__(
        self, opened: Opened, settings: Settings, stores: Stores, events: EventsAbout, *, off_loop: OffLoop
    ) -> None:
        self._opened = opened
        self._settings = settings
        self._stores = stores
        self._off_loop = off_loop
        self._bearer = layout.bearer("lead", opened.term)
        self._events = events
        self.agent: Agent | None = None
        team = opened.team
        self._budget = Budget(
            settings,
            team.directory,
            team.clock,
            bearer=self._bearer,
            run=opened.run.id,
            record=events.record,
        )
        self.model: MeteredModel = make_model(
            settings,
            Throttle(team.directory, layout.THROTTLE, self._bearer),
            budget=self._budget,
            task=lambda: "",
            on_wait=self._tell_wait,
            on_model=self._tell_model,
            before_call=stores.check_term,
            off_loop=off_loop,
        )
        self.compactor: Compactor = make_compactor(
            settings,
            self.model,
            ResultFiles(team.directory, layout.outputs(self._bearer)),
            events,
            state=partial(off_loop, self._present_state),
        )

    @property
    def messages(self) -> Sequence[dict[str, Any]]:
        """What the model has seen and said."""
        return self.agent.messages if self.agent else ()

    def memory(self, secrets: Sequence[str]) -> MemoryKeeper:
        """The team's memory, which a lead also keeps in order."""
        team, settings = self._opened.team, self._settings
        who = Rememberer(
            bearer=self._bearer,
            model=settings.memory_model or self._opened.run.model or settings.model_id or "",
            leads=True,
            work=self._events.work,
            secrets=secrets,
        )
        store = MemoryStore(team.directory)
        return MemoryKeeper(store, self.model, who, settings=settings, events=self._events, clock=team.clock)

    def change(self, settings: Settings) -> None:
        """Limits and prices are these from now on. Blocks; no call of the model may run meanwhile."""
        self._budget.change(settings)

    async def note_todos(self, todos: list[dict[str, Any]]) -> None:
        """The todo list is durable."""
        if self.agent:
            await self.agent.note_todos(todos)

    async def compact(self, focus: str) -> None:
        """That the conversation is to be summed up is durable."""
        if self.agent:
            await self.agent.compact(focus)

    def _present_state(self) -> str:
        run, stores = self._opened.run, self._stores
        alive = [member for member in stores.roster.all() if member.state is MemberState.ALIVE]
        todos = self.agent.conversation.todos if self.agent else []
        return present_state(run, stores.tasks.all(run.id), alive, todos=todos, budget=self._budget.lines)

    def _tell_model(self, model: str) -> None:
        self._stores.events.record("model_changed", model=model)

    def _tell_wait(self, waiting: Waiting) -> None:
        self._stores.events.record("model_waits", seconds=waiting.seconds, error=str(waiting.error))
