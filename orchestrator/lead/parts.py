"""The composition root of a lead: every part, wired once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from coordination import layout
from coordination.events import EventsAbout
from coordination.joining import ProfileWatch
from coordination.liveness import Beat
from coordination.mail.mailbox import Inbox
from coordination.mail.positions import account_of
from coordination.sweep import Sweep
from coordination.wakeup import Wakeup
from harness.assembly import agent_settings
from harness.catalogs import pinned_catalogs
from harness.context.resume import left_behind
from harness.context.seals import Seals
from harness.context.time_told import TimeTold
from harness.extras import Extras
from harness.loop import Agent
from harness.mcp.assemble import secrets_of
from harness.off_loop import OffLoop
from harness.prompt import Role, Situation, system_prompt
from harness.pulse import Pulse
from harness.sources import Sources
from harness.subagents.subagents import Host, Subagents
from harness.tools.background import Background, BackgroundLimits
from harness.tools.mail import TeamInbox, mail_journal
from orchestrator.cron import Cron
from orchestrator.inspection.status import waiting_for_person
from orchestrator.launchers.local import LocalLauncher
from orchestrator.lead.grounds import Grounds
from orchestrator.lead.handed_on import handed_on
from orchestrator.lead.leading import HostOfLead
from orchestrator.lead.mind import Halts, LeadMind
from orchestrator.lead.owed import Owed
from orchestrator.lead.standing import Standing, standing
from orchestrator.lead.tooling import LeadTooling
from orchestrator.lead.work import LeadWork
from orchestrator.sharing.sharing import Sharing, held_for
from orchestrator.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from coordination.mail.positions import Account, Positions
    from coordination.records import Task
    from coordination.stores import Stores
    from harness.context.conversation import Conversation as Former
    from harness.journal import Journal
    from harness.loop import Inbox as Box
    from harness.settings.settings import Settings
    from harness.tool_pool import ToolPool
    from orchestrator.lead.opening import Opened
    from workspace.desk import Desk

WATCHED = (layout.inbox("lead"), layout.REQUESTS, layout.PAUSE, layout.SCHEDULE)


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The part of a lead that thinks; a run from a tasks file has none."""

    agent: Agent
    work: LeadWork
    jobs: Background
    extras: Extras  # skills and MCP servers
    news: Sources  # mail, the ends of background commands, what the schedule fires


class LeadParts:
    """What one lead process needs for one run."""

    def __init__(self, opened: Opened, settings: Settings) -> None:
        self.opened = opened
        self.settings = settings
        self.stores = opened.stores  # of the conversation
        self.background: Stores = opened.stores.again()  # of everything that goes on beside it
        self.bearer = layout.bearer("lead", opened.term)
        self.pulse = Pulse()
        self.off_loop = OffLoop()
        self.behind = OffLoop()  # for `background`
        self.merging = OffLoop()  # for the merge queue, whose checks take their time
        self.beat = Beat(opened.team, self.bearer)
        self.wakeup = Wakeup(opened.team, WATCHED)
        self.ttl = opened.team.mount.ttl(settings.lease_ttl_seconds)
        self.profile = ProfileWatch(opened.team)
        self.sweep = Sweep(self.background, ttl=self.ttl)
        self.catalogs = pinned_catalogs(opened.team.directory, opened.run.digests)
        self.grounds = Grounds(opened, settings, self.background, trusted=self.catalogs.files.texts.keys())
        held = held_for(opened, settings, self.catalogs, self.grounds.sandbox.setup)
        self.sharing = Sharing(held, self.stores.events.record)
        self.supervisor = self._supervisor()
        self.host = HostOfLead(
            self.background,
            self.supervisor,
            off_loop=self.behind,
            max_workers=settings.max_workers,
            start={"model": opened.run.worker_model or None, "digests": opened.run.digests},
            roles=self.catalogs.roles,
            confirmed=opened.run.workers if opened.run.confirmed else 0,
        )
        account = account_of(opened.team.directory, self._former_leads())
        self._secrets = [*settings.secrets(), *secrets_of(self.catalogs.configured.values(), settings)]
        self.stores.events.hide(self._secrets)
        self.journal, self.left = self._records(account)
        self.owed = Owed(self.background)
        self.inbox = self._inbox(account.positions)
        self.interrupt: Callable[[], None] = lambda: None  # what the conversation does at this moment
        self.mind: LeadMind | None = None  # of the conversation
        self.halts = Halts(opened, settings)

    def _records(self, account: Account) -> tuple[Journal, Former]:
        """The journal of this lead, and the conversation that those before it left, as far as it counts."""
        team, seals = self.opened.team, Seals(self.opened.team.id, self.stores.again().keys)
        seal = partial(seals.seal, self.bearer)
        journal = mail_journal(team, self.bearer, account, secrets=self._secrets, seal=seal)
        left = left_behind(
            team.directory, account.journal, account.offset, path_of=layout.journal, counting=seals.counting
        )
        return journal, left

    def _inbox(self, positions: Positions) -> TeamInbox:
        inbox = Inbox(self.opened.team, "lead", self.opened.term, self.stores.roster, positions)
        return TeamInbox(inbox, self.off_loop, self.journal, heard=self.owed.heard)

    def _supervisor(self) -> Supervisor:
        supervisor = Supervisor(
            self.background,
            LocalLauncher(),
            given=self._given(),
            link=self.sharing.link,
            restarts=self.settings.worker_restarts,
        )
        self.sweep.is_seen_to = supervisor.sees_to  # who dies between the two looks comes back all the same
        return supervisor

    def _given(self) -> dict[str, object]:
        return handed_on(self.settings, self.catalogs, self.opened.run.digests, self.stores.keys.first)

    def change(self, settings: Settings) -> None:
        """Limits and prices are these for the lead, and for members that start from now on. Blocks."""
        self.settings = settings
        self.supervisor.given = self._given()
        self.halts.limits = settings.limits("team")
        if self.mind:
            self.mind.change(settings)

    async def compact(self, focus: str) -> None:
        """That the conversation is to be summed up is durable."""
        if self.mind:
            await self.mind.compact(focus)

    def conversation(self, *, on_text: Callable[[str], None], person: Box | None = None) -> Conversation:
        """The agent of the lead; a person who sits at it is one of its boxes. Raises CredentialsMissing."""
        desk = self.grounds.desk(self.stores)
        events = EventsAbout(
            self.stores.events,
            lambda: {"run": self.opened.run.id, "task": desk.task.id if desk.task else None},
        )
        mind = LeadMind(self.opened, self.settings, self.stores, events, off_loop=self.off_loop)
        work = LeadWork(self.stores, desk, off_loop=self.off_loop, meter=mind.model, run=self.opened.run.id)
        jobs = self._jobs(desk)
        boxes: list[Box] = [*([person] if person else []), self.inbox, jobs, self._cron()]
        news = Sources(*boxes, until_on=self._until_on)
        extras = self._extras(work)
        subagents = self._subagents(mind, events, desk, extras)
        tooling = self._tooling(work, mind, extras=extras, jobs=jobs, subagents=subagents)
        pool = tooling.pool()
        self.interrupt, self.mind = pool.interrupt, mind
        mind.agent = agent = Agent(
            model=mind.model,
            pool=pool,
            inbox=news,
            journal=self.journal,
            system=lambda: system_prompt(self._situation(pool, desk, extras)),
            settings=agent_settings(self.settings, self.opened.run.model),
            compactor=mind.compactor,
            events=events,
            on_text=on_text,
        )
        agent.hooks = tooling.turn_hooks()
        agent.memory = mind.memory(self._secrets)
        agent.time = TimeTold(self.opened.team.clock)
        extras.join(agent, pool)
        subagents.join(agent, tooling.behind_gates, self._until_on)
        return Conversation(agent=agent, work=work, jobs=jobs, news=news, extras=extras)

    def tasks(self) -> list[Task]:
        """The tasks of the run."""
        return self.background.tasks.all(self.opened.run.id)

    def standing(self) -> Standing:
        """Whether the run goes on, waits, or is over."""
        return standing(
            self.tasks(),
            members={member.name: member.role for member in self.supervisor.living()},
            asked=waiting_for_person(self.background) | self.owed.left(),
            held_up=self.grounds.integration.held_up,
        )

    def _extras(self, work: LeadWork) -> Extras:
        return Extras(
            self.catalogs,
            self.settings,
            self.opened.team.directory,
            agent="lead",
            cwd=lambda: work.cwd,
            record=self.stores.events.record,
            shared=self.sharing.of_lead,
            confine=self.grounds.sandbox.setup,
        )

    def _subagents(self, mind: LeadMind, events: EventsAbout, desk: Desk, extras: Extras) -> Subagents:
        host = Host(
            bearer=self.bearer,
            directory=self.opened.team.directory,
            clock=self.opened.team.clock,
            settings=self.settings,
            model=mind.model,
            model_id=self.opened.run.model,
            events=events,
            instructions=extras.instructions,
            secrets=self._secrets,
            task=lambda: desk.task.id if desk.task else None,
        )
        return Subagents(host)

    def _jobs(self, desk: Desk) -> Background:
        jobs = Background(
            self.stores.again().jobs,
            self.opened.team.directory,
            limits=BackgroundLimits.of(self.settings),
            record=self.stores.events.record,
            ring=self.pulse.ring,
            task=lambda: desk.task.id if desk.task else None,
        )
        jobs.recover(list(self._former_leads()))
        return jobs

    def _cron(self) -> Cron:
        team, schedule = self.opened.team, self.stores.again().schedule
        cron = Cron(schedule, clock=team.clock, record=self.stores.events.record)
        cron.recover(team.directory, self._former_leads())
        return cron

    async def _until_on(self) -> None:
        seen = self.pulse.count
        while await self.off_loop(self.stores.pauses.is_on):
            await self.pulse.wait(seen, 1.0)
            seen = self.pulse.count

    def _former_leads(self) -> Iterator[str]:
        """Mail goes on where the last of these that wrote a journal had read to."""
        return (layout.bearer("lead", term) for term in range(self.opened.term - 1, 0, -1))

    def _tooling(
        self,
        work: LeadWork,
        mind: LeadMind,
        *,
        extras: Extras,
        jobs: Background,
        subagents: Subagents,
    ) -> LeadTooling:
        return LeadTooling(
            opened=self.opened,
            settings=self.settings,
            work=work,
            host=self.host,
            mind=mind,
            subagents=subagents,
            jobs=jobs,
            make_tree=partial(self.grounds.make_tree, self.stores),
            extras=extras,
            off_loop=self.off_loop,
            pulse=self.pulse,
            sandbox=self.grounds.sandbox,
            sent=self.owed.sent,
        )

    def _situation(self, pool: ToolPool, desk: Desk, extras: Extras) -> Situation:
        run = self.opened.run
        return Situation(
            role=Role.LEAD,
            name="lead",
            task=desk.task.id if desk.task else None,
            tools=pool.names,
            workspace=str(desk.tree if desk.task else self.opened.team.repository),
            checks=run.checks,
            workers=run.workers or self.settings.workers,
            branch=run.branch,
            instructions=extras.instructions,
            sandboxed=self.grounds.sandbox.is_on,
            extras=extras.sections,
        )
