"""The tools of a lead, and the gates before them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from coordination import layout
from coordination.orders import ask_to_interrupt
from coordination.schedule_rules import Rank
from harness.assembly import Caller, mark_of, policy_of, result_limits, tool_context, workspace_tools
from harness.context.conversation import REQUEST_KIND
from harness.gates import LeaseGate
from harness.hooks.gate import HookGate
from harness.hooks.hook_set import HookSet, surroundings
from harness.hooks.turn import TurnHooks
from harness.permissions.guard import PermissionGuard
from harness.permissions.questions import Patience, PersonAsked
from harness.results import ResultFiles
from harness.tool_pool import ToolPool
from harness.tools.compact import compact_tool
from harness.tools.mail import send_message
from harness.tools.schedule import schedule_tools
from harness.tools.subagent import task_tool
from harness.tools.tasks import Planning, board_tools, planning_tools
from harness.tools.team import lead_tools
from harness.tools.todo import todo_write
from orchestrator.lead.worktree_tool import create_worktree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from coordination.stores import Stores
    from harness.context.conversation import Conversation
    from harness.extras import Extras
    from harness.off_loop import OffLoop
    from harness.pulse import Pulse
    from harness.settings.settings import Settings
    from harness.subagents.subagents import Subagents
    from harness.tool import Tool, ToolContext
    from harness.tools.background import Background
    from orchestrator.lead.leading import HostOfLead
    from orchestrator.lead.mind import LeadMind
    from orchestrator.lead.opening import Opened
    from orchestrator.lead.work import LeadWork
    from workspace.sandbox.sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class LeadTooling:
    """What the tools of one lead work with."""

    opened: Opened
    settings: Settings
    work: LeadWork
    host: HostOfLead
    mind: LeadMind
    subagents: Subagents
    jobs: Background  # commands that outlive a turn
    make_tree: Callable[[str, str], Path]
    extras: Extras  # skills and servers
    off_loop: OffLoop  # for the stores of the conversation
    pulse: Pulse
    sandbox: Sandbox
    sent: Callable[[str], None]  # is told whom the model wrote to

    @property
    def stores(self) -> Stores:
        """Those of the conversation."""
        return self.opened.stores

    def pool(self) -> ToolPool:
        """The tools; every call passes the gates in the order of DESIGN 8."""
        return self.behind_gates(self._tools(), self._caller())

    def behind_gates(self, tools: Sequence[Tool], caller: Caller) -> ToolPool:
        """These tools for a conversation of the lead: its own, or that of a sub-agent."""
        policy = policy_of(self.settings, "lead", self.opened.run.checks)
        hooks, person = self._hooks(), self._person()
        return ToolPool(
            tools,
            [
                LeaseGate(self.work.gate),
                PermissionGuard(
                    policy,
                    lambda: self.work.cwd,
                    person,
                    root=self.opened.team.root,
                    mark=partial(mark_of, caller.agent, self.settings),
                ),
                HookGate(hooks, person, task=lambda: self.work.task),
            ],
            context=replace(self._context(caller), hidden=policy.hides),
            record=caller.record,
            limits=result_limits(self.settings),
            hooks=hooks,
        )

    def turn_hooks(self) -> TurnHooks:
        """The person's hooks around the turns of the lead."""
        record = self.stores.events.record
        return TurnHooks(self._hooks(), record=record, max_vetoes=self.settings.max_vetoes)

    def _hooks(self) -> HookSet:
        where = surroundings(self.opened.team, self.stores.actor, "lead")
        record = self.stores.events.record
        return HookSet(self.settings.hooks, where, context=self._context(self._caller()), record=record)

    def _caller(self) -> Caller:
        outputs = ResultFiles(self.opened.team.directory, layout.outputs(self.stores.actor))
        return Caller(agent=self.extras.agent, record=self.stores.events.record, outputs=outputs)

    def _context(self, caller: Caller) -> ToolContext:
        return tool_context(
            self.settings,
            caller,
            cwd=lambda: self.work.cwd,
            progress=lambda: None,
            variables=lambda: self.work.variables,
            confine=self.sandbox.commands,
        )

    def _tools(self) -> list[Tool]:
        run, stores = self.opened.run, self.stores
        planning = Planning(
            run=run.id,
            checks=tuple(run.checks),
            made=lambda _: None,
            max_attempts=self.settings.max_attempts,
            check_roles=self.host.check_roles,
        )
        return [
            *workspace_tools(self.settings, self.jobs),
            compact_tool(self.mind.compact),
            todo_write(self.mind.note_todos),
            *board_tools(stores.tasks, self.off_loop, self.work, run=lambda: run.id),
            *planning_tools(stores.tasks, self.off_loop, planning),
            *schedule_tools(stores.schedule, self.off_loop, self._origin),
            *lead_tools(stores.roster, self.off_loop, self.host),
            create_worktree(self.off_loop, self.make_tree),
            send_message(
                stores.outbox, self.off_loop, sent=self.sent, interrupt=partial(ask_to_interrupt, stores)
            ),
            task_tool(self.subagents),
            *self.extras.tools,
        ]

    def _origin(self) -> tuple[Rank, str]:
        agent = self.extras.agent()
        assert agent
        return origin_of(agent.conversation)

    def _person(self) -> PersonAsked:
        patience = Patience(
            deadline_seconds=self.settings.permission_deadline_seconds,
            progress=lambda: None,
            task=lambda: self.work.task,
        )
        return PersonAsked(self.stores, off_loop=self.off_loop, pulse=self.pulse, patience=patience)


def origin_of(conversation: Conversation) -> tuple[Rank, str]:
    """What is made now is the person's request where nobody else had a word in it; then, who had one.

    Neither in the turn, nor with text from elsewhere at any time before.
    """
    is_of_person = conversation.kinds == [REQUEST_KIND] and not conversation.tainted_by
    words = [*sorted(conversation.kinds), conversation.tainted_by]
    return (Rank.REQUEST if is_of_person else Rank.DATA), ", ".join(filter(None, words))
