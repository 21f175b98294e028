"""The composition root of a teammate: every part, wired once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent_worker.asking import Asking
from agent_worker.assignment import Assignment
from agent_worker.lease_keeper import LeaseKeeper
from agent_worker.lookout import Lookout
from agent_worker.mind import Mind
from agent_worker.plan_gate import PlanOfTask
from agent_worker.post import Post
from agent_worker.shutdown import Shutdown
from agent_worker.tooling import Tooling
from agent_worker.worker import Worker
from coordination import layout
from coordination.events import EventsAbout
from coordination.liveness import Beat
from coordination.stores import open_stores
from coordination.sweep import Sweep
from coordination.tasks.refusals import Claimant
from coordination.wakeup import Wakeup
from harness.catalogs import pinned_catalogs
from harness.extras import Extras
from harness.mcp.transports import alone
from harness.off_loop import OffLoop
from harness.permissions.protected import is_secret
from harness.pulse import Pulse
from harness.sources import Sources
from harness.subagents.subagents import Host, Subagents
from harness.tools.background import Background, BackgroundLimits
from harness.tools.orders import follow_orders
from workspace.git import Git
from workspace.sandbox.sandbox import Sight
from workspace.workplace import Workplace

if TYPE_CHECKING:
    from coordination.records import Member
    from coordination.team_root import Team
    from harness.mcp.transports import WayToShared
    from harness.settings.settings import Settings
    from harness.tool_pool import ToolPool
    from workspace.desk import Desk, Proof


class Teammate:
    """One teammate process, put together for the member that it came alive as."""

    def __init__(
        self,
        team: Team,
        member: Member,
        settings: Settings,
        former: Member | None = None,
        *,
        first_key: str | None = None,
    ) -> None:
        """`former` is the dead process of the same name that this one goes on for.

        `first_key` is the one that its lead handed to it; by hand it is looked up on this host.
        """
        assert member.incarnation is not None
        self.bearer = member.bearer
        self._team = team
        self._member = member
        self._former = former
        self.shared: WayToShared = alone  # to MCP servers that the agents of this host have in common
        self._settings = settings
        self._incarnation = member.incarnation
        self._ttl = team.mount.ttl(settings.lease_ttl_seconds)
        self._off_loop = OffLoop()
        self._pulse = Pulse()
        self._pool: ToolPool | None = None
        self._extras: Extras | None = None
        self._mind: Mind | None = None
        self.stores = open_stores(team, self.bearer, first_key=first_key)
        self.stores.events.hide(settings.secrets())
        self._asking = Asking(self.stores, self._off_loop, me=member.name)
        self._beside = self.stores.again()  # for the lookout, which looks while the work goes on
        self._shutdown = Shutdown()
        self._workplace = self._make_workplace()
        self.keeper = self._make_keeper()
        watched = [layout.inbox(member.name), layout.READY, layout.REQUESTS, layout.LEAD_LOG, layout.PAUSE]
        self.wakeup = Wakeup(team, watched)
        self._run = self._present_run()
        self._post = Post(self.stores, member, settings)

    def _make_workplace(self) -> Workplace:
        return Workplace(
            self._team,
            Git(self._team.repository).pinned(),
            self._settings,
            stopping=lambda: self._shutdown.asked,
            stopping_checks=self._must_stop_checks,
            sight=Sight(shown=[layout.outputs(self.bearer)], is_secret=is_secret),
        )

    def _make_keeper(self) -> LeaseKeeper:
        return LeaseKeeper(
            Beat(self._team, self.bearer),
            self._team.clock,
            ttl=self._ttl,
            progress_timeout_seconds=self._settings.progress_timeout_seconds,
            is_held=self.stores.again().tasks.is_held,
        )

    def worker(self) -> Worker:
        """The loop of this teammate, ready to run."""
        desk = self._desk()
        self._mind = mind = self._make_mind(desk)
        background = self._background(desk)
        plan = PlanOfTask(self.stores, desk, self._off_loop)
        assignment = self._assignment(desk, plan, mind, background)
        inbox = self._post.inbox(self._off_loop, self._asking.heard)
        self._extras = extras = self._make_extras(assignment)
        tooling = self._tooling(extras, mind, subagents := self._subagents(mind, desk, extras))
        self._pool = pool = tooling.pool(assignment, plan, background)
        lookout = self._lookout(pool, mind)
        news = Sources(inbox, background, until_on=lookout.until_on)
        agent = mind.make_agent(
            desk,
            plan,
            pool,
            inbox=news,
            journal=self._post.journal,
            stopping=lambda: self._shutdown.asked or self.keeper.is_lost,
        )
        agent.hooks = tooling.turn_hooks(assignment)
        extras.join(agent, pool)
        subagents.join(agent, partial(tooling.behind_gates, assignment, plan), lookout.until_on)
        assignment.untrusted = lambda: agent.conversation.tainted_by
        return Worker(
            stores=self.stores,
            pulse=self._pulse,
            assignment=assignment,
            plan=plan,
            agent=agent,
            inbox=inbox,
            background=background,
            asking=self._asking,
            news=news,
            lookout=lookout,
            keeper=self.keeper,
            beside=extras.servers.serve,
            left=self._post.left_behind(),
        )

    def _make_mind(self, desk: Desk) -> Mind:
        return Mind(
            self._member,
            self._settings,
            stores=self.stores,
            events=EventsAbout(self.stores.events, partial(self._work, desk)),
            keeper=self.keeper,
            off_loop=self._off_loop,
            extras=lambda: self._extras,
            run=self._run or "",
        )

    def _assignment(self, desk: Desk, plan: PlanOfTask, mind: Mind, background: Background) -> Assignment:
        return Assignment(
            self.stores,
            desk,
            self.keeper,
            plan=plan,
            pulse=self._pulse,
            off_loop=self._off_loop,
            meter=mind.model,
            proof=self._proof(),
            former=self._former,
            end_background=background.kill_all,
        )

    def close(self, why: str, *, failed: bool = False) -> None:
        """The name is closed, late mail is back with its senders, a failure told to the lead."""
        self.wakeup.close()
        self.keeper.close()
        if self._mind:
            self._mind.close()
        if failed:
            self._post.tell_lead(why)
        self._post.close(why)
        self.stores.events.record("closed", why=why)

    def _work(self, desk: Desk) -> dict[str, str | None]:
        """The present task and its run; without one the run of the last, or the one found at the start."""
        if desk.task:
            self._run = desk.task.run
        return {"run": self._run, "task": desk.task.id if desk.task else None}

    def _proof(self) -> Proof:
        run = self.stores.runs.open_run()
        return self._workplace.proof(run.checks if run else self._settings.checks)

    def _desk(self) -> Desk:
        name, role = self._member.name, self._member.role
        claimant = Claimant(name=name, incarnation=self._incarnation, role=role)
        return self._workplace.desk(self.stores.tasks, claimant, self._proof())

    def _background(self, desk: Desk) -> Background:
        background = Background(
            self.stores.again().jobs,
            self._team.directory,
            limits=BackgroundLimits.of(self._settings),
            record=self.stores.events.record,
            ring=self._pulse.ring,
            task=lambda: desk.task.id if desk.task else None,
        )
        background.recover(self.stores.roster.bearers(self._member)[1:])
        return background

    def _must_stop_checks(self) -> bool:
        is_interrupted = self._pool.is_interrupted if self._pool else False
        return self._shutdown.at_once or self.keeper.is_lost or is_interrupted

    def _subagents(self, mind: Mind, desk: Desk, extras: Extras) -> Subagents:
        host = Host(
            bearer=self.bearer,
            directory=self._team.directory,
            clock=self._team.clock,
            settings=self._settings,
            model=mind.model,
            model_id=self._member.model,
            events=mind.events,
            instructions=extras.instructions,
            secrets=self._settings.secrets(),
            task=lambda: desk.task.id if desk.task else None,
        )
        return Subagents(host)

    def _tooling(self, extras: Extras, mind: Mind, subagents: Subagents) -> Tooling:
        return Tooling(
            stores=self.stores,
            settings=self._settings,
            member=self._member,
            checks=self._proof().checks,
            run=self._present_run,
            extras=extras,
            mind=mind,
            subagents=subagents,
            asking=self._asking,
            off_loop=self._off_loop,
            pulse=self._pulse,
            keeper=self.keeper,
            sandbox=self._workplace.sandbox,
        )

    def _lookout(self, pool: ToolPool, mind: Mind) -> Lookout:
        stores, ttl, off_loop = self._beside, self._ttl, OffLoop()
        return Lookout(
            stores,
            self._pulse,
            wakeup=self.wakeup,
            off_loop=off_loop,
            shutdown=self._shutdown,
            sweep=Sweep(stores, ttl=ttl),
            keeper=self.keeper,
            follow=partial(
                follow_orders,
                stores,
                off_loop,
                stop=self._shutdown.ask,
                interrupt=pool.interrupt,
                compact=mind.compact,
            ),
            ttl=ttl,
        )

    def _make_extras(self, assignment: Assignment) -> Extras:
        return Extras(
            pinned_catalogs(self._team.directory, self._member.digests),
            self._settings,
            self._team.directory,
            agent=self._member.name,
            cwd=assignment.cwd,
            record=self.stores.events.record,
            role=self._member.role,
            shared=self.shared,
            confine=self._workplace.sandbox.setup,
        )

    def _present_run(self) -> str | None:
        return run.id if (run := self.stores.runs.open_run()) else None
