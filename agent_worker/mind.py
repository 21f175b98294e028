"""What thinks in a teammate: its model, its conversation, and what must not be lost of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent_worker.briefing import present_state, task_state
from coordination import layout
from coordination.records import MemberState
from harness.assembly import agent_settings, make_compactor, make_model
from harness.context.time_told import TimeTold
from harness.loop import Agent
from harness.memory.keeper import MemoryKeeper, Rememberer
from harness.memory.store import MemoryStore
from harness.models.budget import Budget
from harness.models.throttle import Throttle
from harness.prompt import Role, Situation, system_prompt
from harness.results import ResultFiles
from workspace.sandbox.sandbox import OFF

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from agent_worker.lease_keeper import LeaseKeeper
    from agent_worker.plan_gate import PlanOfTask
    from coordination.events import EventsAbout
    from coordination.records import Member
    from coordination.stores import Stores
    from harness.extras import Extras
    from harness.journal import Journal
    from harness.loop import Inbox
    from harness.models.recovery import Waiting
    from harness.off_loop import OffLoop
    from harness.settings.settings import Settings
    from harness.tool_pool import ToolPool
    from workspace.desk import Desk


class Mind:
    """The model of one teammate and the agent that it drives. Raises CredentialsMissing."""

    def __init__(  # noqa: PLR0913 - the composition root names every part once
        self,
        member: Member,
        settings: Settings,
        *,
        stores: Stores,
        events: EventsAbout,
        keeper: LeaseKeeper,
        off_loop: OffLoop,
        extras: Callable[[], Extras | None],
        run: str,
    ) -> None:
        """`extras` are instructions, skills and servers, once they are there; use counts for `run`."""
        assert member.incarnation is not None
        self._member = member
        self._incarnation = member.incarnation
        self._settings = settings
        self._stores = stores
        self._keeper = keeper
        self._off_loop = off_loop
        self._extras = extras
        self._bearer = member.bearer
        self._throttle = Throttle(stores.team.directory, layout.THROTTLE, self._bearer)
        team = stores.team
        self.events = events
        self._budget = Budget(
            settings, team.directory, team.clock, bearer=self._bearer, run=run, record=events.record
        )
        self.model = make_model(
            settings,
            self._throttle,
            budget=self._budget,
            task=lambda: self._agent.conversation.about if self._agent else "",
            on_wait=self._tell_wait,
            on_model=self._tell_model,
            before_call=partial(stores.roster.check_newest, member.name, member.incarnation),
            off_loop=off_loop,
        )
        self._agent: Agent | None = None

    @property
    def messages(self) -> Sequence[dict[str, Any]]:
        """What the model has seen and said."""
        return self._agent.messages if self._agent else ()

    def make_agent(
        self,
        desk: Desk,
        plan: PlanOfTask,
        pool: ToolPool,
        *,
        inbox: Inbox,
        journal: Journal,
        stopping: Callable[[], bool],
    ) -> Agent:
        """The agent, with the tools of `pool`."""
        directory, events = self._stores.team.directory, self.events
        compactor = make_compactor(
            self._settings,
            self.model,
            ResultFiles(directory, layout.outputs(self._bearer)),
            events,
            state=partial(self._present_state, desk, plan),
            on_text=lambda _: self._keeper.checkpoint(),
        )
        self._agent = Agent(
            model=self.model,
            pool=pool,
            inbox=inbox,
            journal=journal,
            system=lambda: system_prompt(self._situation(desk, pool.names)),
            settings=agent_settings(self._settings, self._member.model),
            compactor=compactor,
            events=events,
            on_text=lambda _: self._keeper.checkpoint(),
            stopping=stopping,
        )
        self._agent.memory = self._memory()
        self._agent.time = TimeTold(self._stores.team.clock)
        return self._agent

    def _memory(self) -> MemoryKeeper:
        """The team's memory; a teammate adds to it and leaves its order to the lead."""
        team, settings = self._stores.team, self._settings
        who = Rememberer(
            bearer=self._bearer,
            model=settings.memory_model or self._member.model or settings.model_id or "",
            leads=False,
            work=self.events.work,
            secrets=settings.secrets(),
            on_text=self._keeper.checkpoint,
        )
        store = MemoryStore(team.directory)
        return MemoryKeeper(store, self.model, who, settings=settings, events=self.events, clock=team.clock)

    async def note_todos(self, todos: list[dict[str, Any]]) -> None:
        """The todo list is durable."""
        if self._agent:
            await self._agent.note_todos(todos)

    async def compact(self, focus: str) -> None:
        """That the conversation is to be summed up is durable."""
        if self._agent:
            await self._agent.compact(focus)

    def close(self) -> None:
        """The others wait no longer for what this one was told."""
        self._throttle.leave()

    async def _present_state(self, desk: Desk, plan: PlanOfTask) -> str:
        team = await self._off_loop(self._stores.roster.all)
        alive = [member for member in team if member.state is MemberState.ALIVE]
        todos = self._agent.conversation.todos if self._agent else []
        where = task_state(desk.task, desk.tree, await plan.state()) if desk.task else []
        return present_state(where, alive, todos, self._budget.lines)

    def _tell_model(self, model: str) -> None:
        self._stores.roster.update(self._member.name, self._incarnation, model=model)
        self._stores.events.record("model_changed", model=model)

    def _tell_wait(self, waiting: Waiting) -> None:
        self._keeper.checkpoint()
        self._stores.events.record("model_waits", seconds=waiting.seconds, error=str(waiting.error))

    def _situation(self, desk: Desk, tools: Sequence[str]) -> Situation:
        task, extras = desk.task, self._extras()
        return Situation(
            role=Role.TEAMMATE,
            name=self._member.name,
            task=task.id if task else None,
            tools=tools,
            workspace=str(desk.tree) if task else None,
            plan_required=self._member.plan_required or bool(task and task.plan_required),
            instructions=extras.instructions if extras else "",
            sandboxed=self._settings.sandbox != OFF,
            extras=extras.sections if extras else (),
        )
