"""Runs the sub-agents of one agent: the same loop, model and gates, with a conversation of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coordination import layout
from coordination.events import EventsAbout
from harness.assembly import Caller, agent_settings, make_compactor, workspace_tools
from harness.context.conversation import REQUEST_KIND
from harness.journal import Journal
from harness.loop import Agent, Incoming
from harness.prompt import Role, Situation, system_prompt
from harness.results import ResultFiles
from harness.sources import Sources
from harness.subagents.kinds import BUILT_IN
from harness.tool import ToolFailure
from harness.turn import Ended

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from coordination.clock import Clock
    from coordination.events import Recorder
    from coordination.files import StateDirectory
    from harness.models.model import Model
    from harness.settings.settings import Settings
    from harness.subagents.kinds import Kind
    from harness.tool import Tool, ToolContext
    from harness.tool_pool import ToolPool
    from harness.turn import TurnOutcome

    MakePool = Callable[[Sequence[Tool], Caller], ToolPool]

WORDLESS = "the sub-agent ended without a report; look yourself at what it did, if anything"
CUT = "[cut after {rounds} model calls, so the work may be unfinished] {text}"
NO_END = "the sub-agent came to no end: {why}{words}"


@dataclass(frozen=True, kw_only=True)
class Host:
    """What sub-agents have from the process that they run in."""

    bearer: str
    directory: StateDirectory
    clock: Clock
    settings: Settings
    model: Model  # counted and limited as that of the agent itself
    model_id: str | None
    events: Recorder
    instructions: str  # of the project, for the prompt
    secrets: Sequence[str]  # that belong into no journal
    task: Callable[[], str | None]  # the id of the agent's task


@dataclass(frozen=True, kw_only=True)
class _Agents:
    """What is there only once the agent itself is."""

    make_pool: MakePool
    stopping: Callable[[], bool]
    until_on: Callable[[], Awaitable[None]]


class Subagents:
    """All sub-agents of one agent; each is run to its end, and none of them starts another."""

    def __init__(self, host: Host, kinds: Sequence[Kind] = BUILT_IN) -> None:
        self.kinds = {kind.name: kind for kind in kinds}
        self.at_once = host.settings.subagent_parallel
        self._host = host
        self._started = 0
        self._agents: _Agents | None = None

    def join(self, agent: Agent, make_pool: MakePool, until_on: Callable[[], Awaitable[None]]) -> None:
        """They work for this agent, behind its gates: they stop when it does, and rest when the team does."""
        self._agents = _Agents(make_pool=make_pool, stopping=agent.stopping, until_on=until_on)

    async def run(self, kind: str, prompt: str, context: ToolContext) -> str:
        """The report of a new sub-agent. `context` is that of the call that asked for it.

        What the sub-agent has from elsewhere marks the conversation of the agent, however this process ends.
        Raises ToolFailure when there is no report.
        """
        self._started += 1
        one = _Subagent(self._host, self.kinds[kind], name=f"sub-{self._started}", context=context)
        assert self._agents
        return await one.run(prompt, self._agents)


class _Subagent:
    """One conversation, from the first words to the report."""

    def __init__(self, host: Host, kind: Kind, *, name: str, context: ToolContext) -> None:
        self._host = host
        self._kind = kind
        self._context = context
        self._facts = {"kind": kind.name, "call": context.call_id}
        self._events = EventsAbout(host.events, lambda: {"subagent": name})
        self._outputs = ResultFiles(host.directory, layout.outputs(host.bearer), apart=name)
        self._path = layout.subagent_journal(host.bearer, name)
        self._journal = Journal(host.directory, self._path, host.clock, secrets=host.secrets)
        self._agent: Agent | None = None

    async def run(self, prompt: str, of: _Agents) -> str:
        agent = self._agent = self._make(of)
        inherited = self._context.untrusted()
        self._events.record("subagent_started", transcript=self._path, **self._facts)
        outcome: TurnOutcome | None = None
        try:
            await agent.begin(f"{self._kind.name} for {self._context.call_id}", about=self._host.task() or "")
            mark = {"untrusted": inherited} if inherited else {}
            outcome = await agent.run([Incoming(text=prompt, kind=REQUEST_KIND, journal=mark)])
        finally:
            self._journal.close()
            ended = {"ended": outcome.ended, "rounds": outcome.rounds} if outcome else {"ended": "cancelled"}
            self._events.record("subagent_ended", **ended, **self._facts)
        return _report(outcome)

    def _make(self, of: _Agents) -> Agent:
        host, settings = self._host, self._host.settings
        tools = [tool for tool in workspace_tools(settings) if tool.name in self._kind.tools]
        caller = Caller(
            agent=lambda: self._agent,
            record=self._events.record,
            outputs=self._outputs,
            distrust=self._context.distrust,
        )
        pool = of.make_pool(tools, caller)
        system = system_prompt(self._situation(pool))
        return Agent(
            model=host.model,
            pool=pool,
            inbox=Sources(until_on=of.until_on),
            journal=self._journal,
            system=lambda: system,
            settings=replace(
                agent_settings(settings, host.model_id), max_rounds=settings.subagent_max_rounds
            ),
            compactor=make_compactor(
                settings, host.model, self._outputs, self._events, state=_no_state, on_text=self._show_life
            ),
            events=self._events,
            on_text=self._show_life,
            stopping=of.stopping,
        )

    def _situation(self, pool: ToolPool) -> Situation:
        return Situation(
            role=Role.SUBAGENT,
            name=self._host.bearer.partition("~")[0],
            task=self._host.task(),
            tools=pool.names,
            workspace=str(self._context.cwd()),
            instructions=self._host.instructions,
            extras=[self._kind.instructions],
        )

    def _show_life(self, _: str) -> None:
        self._context.progress()


def _report(outcome: TurnOutcome) -> str:
    if outcome.error or outcome.ended in {Ended.GAVE_UP, Ended.STOPPED}:
        words = f"; its last words: {outcome.text}" if outcome.text else ""
        raise ToolFailure(str(outcome.ended), NO_END.format(why=outcome.why, words=words))
    if outcome.ended is Ended.LIMIT:
        return CUT.format(rounds=outcome.rounds, text=outcome.text or WORDLESS)
    return outcome.text or WORDLESS


async def _no_state() -> str:
    """All that a summary has to put back is in the request, which it keeps."""
    return ""
