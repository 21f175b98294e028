"""The tools of a teammate, and the gates before them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from coordination import layout
from harness.assembly import Caller, mark_of, policy_of, result_limits, tool_context, workspace_tools
from harness.gates import LeaseGate, PlanGate
from harness.hooks.gate import HookGate
from harness.hooks.hook_set import HookSet, surroundings
from harness.hooks.turn import TurnHooks
from harness.permissions.ground import ground_now
from harness.permissions.guard import PermissionGuard
from harness.permissions.questions import Patience, PersonAsked
from harness.results import ResultFiles
from harness.tool_pool import ToolPool
from harness.tools.mail import send_message
from harness.tools.subagent import task_tool
from harness.tools.tasks import board_tools
from harness.tools.team import submit_plan
from harness.tools.todo import todo_write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_worker.asking import Asking
    from agent_worker.assignment import Assignment
    from agent_worker.lease_keeper import LeaseKeeper
    from agent_worker.mind import Mind
    from agent_worker.plan_gate import PlanOfTask
    from coordination.records import Member
    from coordination.stores import Stores
    from harness.extras import Extras
    from harness.off_loop import OffLoop
    from harness.pulse import Pulse
    from harness.settings.settings import Settings
    from harness.subagents.subagents import Subagents
    from harness.tool import Guard, Tool, ToolContext
    from harness.tools.background import Background
    from workspace.sandbox.sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class Tooling:
    """What the tools of one teammate work with."""

    stores: Stores
    settings: Settings
    member: Member
    checks: Mapping[str, str]
    extras: Extras  # its role, skills and servers
    mind: Mind
    subagents: Subagents
    asking: Asking
    run: Callable[[], str | None]  # the open one
    off_loop: OffLoop  # for `stores`
    pulse: Pulse
    keeper: LeaseKeeper
    sandbox: Sandbox

    def pool(self, assignment: Assignment, plan: PlanOfTask, background: Background) -> ToolPool:
        """The tools for this assignment; every call passes the gates in the order of DESIGN 8."""
        tools = self._tools(assignment, plan, background)
        return self.behind_gates(assignment, plan, tools, self._caller())

    def behind_gates(
        self, assignment: Assignment, plan: PlanOfTask, tools: Sequence[Tool], caller: Caller
    ) -> ToolPool:
        """These tools for a conversation of the teammate: its own, or that of a sub-agent."""
        policy = policy_of(self.settings, self.member.role, self.checks)
        context = self._context(assignment, caller)
        hooks, person = self._hooks(context), self._person(assignment)
        gates: list[Guard] = [
            PlanGate(plan, partial(ground_now, assignment.cwd, self.stores.team.root), policy.checks),
            LeaseGate(assignment.gate),
            PermissionGuard(
                policy,
                assignment.cwd,
                person,
                root=self.stores.team.root,
                mark=partial(mark_of, caller.agent, self.settings),
            ),
            HookGate(hooks, person, task=assignment.task_id),
        ]
        return ToolPool(
            tools,
            gates,
            context=replace(context, hidden=policy.hides),
            record=caller.record,
            limits=result_limits(self.settings),
            hooks=hooks,
            admits=self.extras.admits,
        )

    def turn_hooks(self, assignment: Assignment) -> TurnHooks:
        """The person's hooks around the turns of this teammate."""
        hooks = self._hooks(self._context(assignment, self._caller()))
        return TurnHooks(hooks, record=self.stores.events.record, max_vetoes=self.settings.max_vetoes)

    def _hooks(self, context: ToolContext) -> HookSet:
        where = surroundings(self.stores.team, self.stores.actor, self.member.role)
        return HookSet(self.settings.hooks, where, context=context, record=self.stores.events.record)

    def _caller(self) -> Caller:
        outputs = ResultFiles(self.stores.team.directory, layout.outputs(self.stores.actor))
        return Caller(agent=self.extras.agent, record=self.stores.events.record, outputs=outputs)

    def _context(self, assignment: Assignment, caller: Caller) -> ToolContext:
        return tool_context(
            self.settings,
            caller,
            cwd=assignment.cwd,
            progress=self.keeper.checkpoint,
            groups=self.keeper.groups,
            variables=lambda: assignment.variables,
            confine=self.sandbox.commands,
        )

    def _tools(self, assignment: Assignment, plan: PlanOfTask, background: Background) -> list[Tool]:
        return [
            *workspace_tools(self.settings, background),
            *board_tools(
                self.stores.tasks,
                self.off_loop,
                assignment,
                run=self.run,
                hand_in_ends_turn=True,
            ),
            todo_write(self.mind.note_todos),
            submit_plan(plan),
            send_message(self.stores.outbox, self.off_loop, sent=self.asking.sent),
            task_tool(self.subagents),
            *self.extras.tools,
        ]

    def _person(self, assignment: Assignment) -> PersonAsked:
        patience = Patience(
            deadline_seconds=self.settings.permission_deadline_seconds,
            progress=self.keeper.checkpoint,
            task=assignment.task_id,
        )
        return PersonAsked(self.stores, off_loop=self.off_loop, pulse=self.pulse, patience=patience)
