"""A lead from its opening to its exit code: term, parts, run, report."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from coordination.errors import TeamError
from coordination.protocols import PERSON
from coordination.roster import since
from coordination.stores import open_stores
from harness.loop import Incoming
from harness.off_loop import OffLoop
from orchestrator.inspection.report import render, to_json
from orchestrator.lead.agreed import named
from orchestrator.lead.briefs import goal_brief, resumed_brief
from orchestrator.lead.ending import end_run
from orchestrator.lead.lead import Lead
from orchestrator.lead.opening import (
    NothingToResume,
    Opened,
    find_team,
    open_again,
    open_goal,
)
from orchestrator.lead.parts import LeadParts
from orchestrator.lead.planned import ask_for_members, create_planned
from orchestrator.lead.preparing import prepared
from orchestrator.lead.terms import Terms, propose
from orchestrator.tasks_file import load_tasks
from orchestrator.terminal.approvals import Approvals
from orchestrator.terminal.at_terminal import AtTerminal
from orchestrator.terminal.confirmation import Confirmation
from orchestrator.terminal.console import Console, Stream
from workspace.sandbox.choice import in_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from harness.loop import Agent
    from harness.settings.settings import Settings
    from orchestrator.interactive.talk import Talk
    from orchestrator.lead.options import RunOptions
    from orchestrator.lead.outcome import Ending
    from orchestrator.tasks_file import PlannedTask
    from orchestrator.terminal.confirmation import Consent


def start_run(options: RunOptions, *, goal: str, tasks_file: Path | None = None) -> int:
    """A new run, to its end; returns the exit code. Raises TeamError for what the person can mend."""
    tasks = load_tasks(tasks_file) if tasks_file else []
    team, git, settings, catalogs = prepared(options)
    workers = options.workers or 0
    opened = open_goal(
        team,
        git,
        settings,
        goal=goal,
        catalogs=catalogs,
        tasks=tasks,
        workers=workers,
        agreed=named(options.flags),
    )
    return Session(opened, settings, options).run_new(tasks)


def resume_run(options: RunOptions) -> int:
    """The open run, to its end; returns the exit code."""
    if open_stores(find_team(options.start, options.team_directory), PERSON).runs.open_run() is None:
        raise NothingToResume
    team, git, settings, catalogs = prepared(options)
    opened = open_again(team, git, settings, catalogs=catalogs, agreed=named(options.flags))
    return Session(opened, settings, options).run_again()


class Session:
    """One lead process at work on one run."""

    def __init__(
        self, opened: Opened, settings: Settings, options: RunOptions, talk: Talk | None = None
    ) -> None:
        """With a `talk` a person sits at it, and the run goes on until they leave."""
        self._opened = opened
        self._settings = settings
        self._options = options
        self._talk = talk
        self._console = talk.console if talk else Console(as_json=options.as_json)
        self._stream = Stream(opened.team.directory, self._console, listener=options.listener)
        self._parts = LeadParts(opened, settings)

    def run_new(self, tasks: Sequence[PlannedTask]) -> int:
        """Plan by the model, or take the planned tasks; then lead to the end."""
        self._announce("leads")
        run, stores = self._opened.run, self._opened.stores
        if not tasks:
            return self._finish(anyio.run(self._with_model, goal_brief(run)))
        create_planned(stores.tasks, run.id, tasks, max_attempts=self._settings.max_attempts)
        return self._finish(anyio.run(self._without_model))

    def run_again(self) -> int:
        """Lead what an earlier lead began; a run whose tasks a person wrote needs no model for that."""
        self._announce("leads again")
        run, stores = self._opened.run, self._opened.stores
        self._parts.sweep.look()  # who died with the earlier lead is not taken for a member
        self._parts.background.tasks.repair()  # what it published in its last moment is found at once
        if run.planned:
            return self._finish(anyio.run(self._without_model))
        questions = [
            f"{asked.question.id} from {asked.question.asker}: {asked.question.question}"
            for asked in stores.requests.open()
            if asked.question.kind == "plan"
        ]
        tasks, members = stores.tasks.all(run.id), since(stores.runs.began_in(run.id), stores.roster.all())
        brief = resumed_brief(run, tasks, members, questions) if tasks else goal_brief(run)
        return self._finish(anyio.run(self._with_model, brief))

    def _announce(self, verb: str) -> None:
        run, team = self._opened.run, self._opened.team
        where = f"team directory {team.root}, model {run.model}"
        if self._settings.base_url:
            where += f" at {self._settings.base_url}"
        sandbox = in_words(self._settings.sandbox, self._settings.sandbox_network)
        self._console.say(f"leadhand {verb} {run.id}: {run.goal}\n{where}\n{sandbox}")
        for name, why in self._parts.catalogs.roles.broken.items():
            self._console.say(f"the role {name} cannot be used: {why}")

    async def _with_model(self, brief: str) -> Ending:
        lead = self._lead()
        person = self._talk.person if self._talk else None
        conversation = self._parts.conversation(on_text=self._write, person=person)
        incoming = await self._first_words(conversation.agent, brief)
        with self._talk.lines.shown() if self._talk else nullcontext():
            return await lead.run(conversation, incoming)

    async def _first_words(self, agent: Agent, brief: str) -> list[Incoming]:
        """What starts the conversation; nothing where that of an earlier lead of the run goes on."""
        left, run = self._parts.left, self._opened.run
        if left.about == run.id and left.messages:
            await agent.go_on(left)
            return []
        await agent.begin(run.goal, about=run.id)
        return [Incoming(text=brief)]

    async def _without_model(self) -> Ending:
        wanted = self._options.workers or self._opened.run.workers
        try:
            await ask_for_members(self._parts, wanted=wanted)
        except TeamError:
            await self._parts.behind(self._call_off)
            raise
        return await self._lead().run(None, ())

    def _call_off(self) -> None:
        """The team cannot be started as it is; nothing of it stands in the way of the next try."""
        stores = self._parts.background
        for member in self._parts.host.waiting:
            stores.roster.withdraw(member.name, member.spawn_id, "the team was called off")
        end_run(stores, self._opened.run.id, "stopped")
        stores.leadership.end(self._opened.term)

    def _lead(self) -> Lead:
        lead = Lead(
            self._parts,
            self._console,
            self._stream,
            confirmation=Confirmation(
                self._console,
                self._consent(),
                partial(propose, self._parts),
                self._parts.stores.events.record,
                Terms(self._parts),
            ),
            can_wait=not self._options.no_input,
            talk=self._talk,
        )
        lead.at_terminal = self._at_terminal() if self._consent().may_ask else None
        return lead

    def _consent(self) -> Consent:
        consent = self._options.consent()
        return replace(consent, may_ask=True) if self._talk else consent

    def _at_terminal(self) -> AtTerminal:
        parts = self._parts
        approvals = Approvals(open_stores(self._opened.team, PERSON))
        return AtTerminal(self._opened.team, approvals, self._console, pulse=parts.pulse, off_loop=OffLoop())

    def _write(self, text: str) -> None:
        """What the lead's model says, as it comes."""
        if not self._options.as_json:
            self._console.stream(text)

    def _finish(self, ending: Ending) -> int:
        if self._options.as_json:
            self._console.emit({"action": "report", "exit_code": int(ending.code), **to_json(ending.report)})
        else:
            self._console.say("\n" + render(ending.report))
        return int(ending.code) or int(self._console.is_lossy)  # 1: whoever reads it lacks something
