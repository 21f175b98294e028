"""Before a lead can work: the repository, the team root, the term, the run."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.errors import TeamError
from coordination.joining import agree_on_profile
from coordination.keys import Keyring
from coordination.leadership import LeadAlive, Leadership
from coordination.liveness import LOOKS_PER_TTL, BeatWatch, read_beat
from coordination.member_rules import InvalidMemberChange
from coordination.process import is_near, is_stopped
from coordination.protocols import LEAD, PERSON
from coordination.records import MemberState
from coordination.requests import AlreadyDecided
from coordination.roster import GONE
from coordination.stores import Stores, open_stores
from coordination.team_root import NoTeam, Team, create_team, find_root, open_team
from harness.pinned_policy import pin_policy
from orchestrator.lead.ending import end_run
from orchestrator.lead.pages import lay_out
from workspace.git import Git
from workspace.hiding import hide
from workspace.opening import open_repository

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from coordination.profile import Ttl
    from coordination.records import Run
    from harness.catalogs import Catalogs
    from harness.settings.settings import Settings
    from orchestrator.tasks_file import PlannedTask


@dataclass(eq=False)
class RunOpen(TeamError):
    """The team has a run that is not finished."""

    run: str
    goal: str
    says = (
        "{run} is still open ({goal}); go on with `leadhand resume`, end it with `leadhand stop`, "
        "or give this goal a team of its own with --team DIR"
    )


@dataclass(eq=False)
class NoDirectory(TeamError):
    """Something that is no directory stands where the team's is to be."""

    path: str
    says = "{path} is no directory; choose another for the team with --team DIR"


@dataclass(eq=False)
class OtherRepository(TeamError):
    """The team that lies there works on another repository than the one around the person."""

    root: str
    repository: str
    here: str
    says = (
        "the team in {root} works on {repository}, not on {here}; "
        "start there, or choose another directory with --team DIR"
    )


@dataclass(eq=False)
class UnknownCheckName(TeamError):
    """A check is wanted that nothing defines, so no task could ever prove itself."""

    name: str
    defined: str
    says = "no check is called {name!r}; define it under `checks` in leadhand.yaml (there are: {defined})"


@dataclass(eq=False)
class NothingToResume(TeamError):
    """The team has no open run."""

    says = "no run is open here; start one with `leadhand run GOAL`"


@dataclass(eq=False)
class TasksNeverMade(TeamError):
    """The lead of a run from a tasks file died before the tasks were on the board."""

    run: str
    says = "{run} ended before its tasks were on the board; start it again with `leadhand run --tasks FILE`"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A lead with its term and its run."""

    stores: Stores
    git: Git
    term: int
    run: Run

    @property
    def team(self) -> Team:
        return self.stores.team


def make_team(start: Path, team_directory: Path | None) -> tuple[Team, Git]:
    """The team of the repository around `start`, made if there is none yet.

    Raises NotARepository, NoCommitYet, GitMissing, ForeignDirectory, OtherHost, MountUnfit, NoDirectory,
    OtherRepository.
    """
    git = open_repository(start)
    root = team_directory.resolve() if team_directory else git.place.tree
    try:
        root.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NoDirectory(path=str(root)) from error
    team = create_team(root, git.place.tree)
    if team.repository != git.place.tree and Git(team.repository).place.common != git.place.common:
        raise OtherRepository(root=str(root), repository=str(team.repository), here=str(git.place.tree))
    agree_on_profile(team)
    if (keys := Keyring(team)).first is None:
        keys.establish()  # before anybody else can: who makes the team decides for it
    lay_out(team.directory)
    hide(git, root, layout.TOP_LEVEL)
    return team, git


def find_team(start: Path, team_directory: Path | None) -> Team:
    """The existing team around `start`. Raises NoTeam."""
    root = team_directory.resolve() if team_directory else find_root(start)
    if root is None:
        raise NoTeam(path=str(start))
    return open_team(root)


def take_term(team: Team, *, ttl: Ttl) -> int:
    """The process leads. A lead on another machine, or one that was stopped, has a TTL to show a beat.

    Raises LeadAlive, and what `look_through` raises.
    """
    look_through(open_stores(team, PERSON))
    leadership = Leadership(team)
    watch = BeatWatch(team.clock, ttl)
    while True:
        newest = leadership.newest()
        who = layout.bearer("lead", newest[0]) if newest else ""
        try:
            return leadership.take(silent=watch.silent(who))
        except LeadAlive as alive:
            if newest is None or newest[0] != alive.term:
                raise  # it began at this very moment
            lead, beat = newest[1].process, read_beat(team, who)
            silence = watch.look(who, beat)
            if is_near(lead) and not is_stopped(lead.pid):
                raise  # it lives: here that can be known
            team.clock.sleep(ttl() / LOOKS_PER_TTL)
            if watch.look(who, read_beat(team, who)) <= silence:
                raise  # its beat changes


def look_through(stores: Stores) -> None:
    """All that `stamp` will write to can be read, and mail be received.

    Raises NewerFormat, StateUnreadable, LinkInTheWay, before anything is written.
    """
    for each in (stores.runs.all, stores.requests.open, stores.schedule.due, stores.roster.all):
        each()
    stores.tasks.own_unfinished(LEAD)
    stores.team.directory.make(layout.inbox(LEAD))


def stamp(stores: Stores, term: int) -> None:
    """The term stands in everything that a predecessor might still want to change (DESIGN 12).

    A start that it left behind is called off: nobody watches that process, or none was ever made. The
    task that it held itself is ready again.
    """
    stores.tasks.begin_term()
    for run in stores.runs.all():
        if run.state == "open":
            stores.runs.update(run.id)
    if (own := stores.tasks.own_unfinished(LEAD)) and own.token:
        stores.tasks.reclaim(own.id, own.token, f"{own.lease and own.lease.holder} has ended")
    for asked in stores.requests.open():
        if asked.term < term:
            with suppress(AlreadyDecided):  # the answer was on its way
                stores.requests.stamp(asked.question.id)
    for occurrence in stores.schedule.due():
        stores.schedule.stamp(occurrence)
    _stamp_roster(stores)


def _stamp_roster(stores: Stores) -> None:
    for member in stores.roster.all():
        with suppress(InvalidMemberChange):  # it has just closed, or come alive
            if member.state is MemberState.STARTING:
                stores.roster.withdraw(member.name, member.spawn_id, "the lead that asked for it has ended")
            elif member.state not in GONE:
                stores.roster.update(member.name, None, comes_back=False)


def open_goal(  # noqa: PLR0913 - what a run is made of, by name
    team: Team,
    git: Git,
    settings: Settings,
    *,
    goal: str,
    catalogs: Catalogs,
    tasks: Sequence[PlannedTask] = (),
    workers: int,
    agreed: Mapping[str, Any] | None = None,
) -> Opened:
    """A new run with this goal, led by this process, with these catalogs, and limits of its own (`agreed`).

    Raises LeadAlive, RunOpen, UnknownCheckName, UnknownRole, RoleBroken, KeyNotAccepted.
    """
    Keyring(team).establish()
    checks = known_checks(settings, tasks)
    catalogs.roles.check(task.role for task in tasks if task.role)
    _refuse_open_run(open_stores(team, PERSON))
    term = take_term(team, ttl=team.mount.ttl(settings.lease_ttl_seconds))
    stores = open_stores(team, layout.bearer("lead", term))
    if open_run := stores.runs.open_run():  # opened since we looked
        stores.leadership.end(term)
        raise RunOpen(run=open_run.id, goal=open_run.goal)
    stamp(stores, term)
    run = stores.runs.open(
        goal,
        base=git.head(),
        checks=checks,
        planned=bool(tasks),
        workers=workers,
        model=settings.model_id or "",
        worker_model=settings.worker_model_id or settings.model_id or "",
        plan_reviewer=PERSON if tasks else settings.plan_reviewer,  # no model leads tasks of a person
        agreed=dict(agreed or {}),
    )
    digests = catalogs.pin(team.directory) | pin_policy(team.directory, settings)
    run = stores.runs.update(run.id, branch=f"leadhand/{run.id}", digests=digests)
    return Opened(stores=stores, git=git.pinned(), term=term, run=run)


def _refuse_open_run(stores: Stores) -> None:
    """Before a term is taken: a term that ends at once would send the run's members home."""
    open_run, led = stores.runs.open_run(), stores.leadership.led()
    if open_run is None:
        return
    if led:
        raise LeadAlive(term=led[0], host=led[1].process.host, pid=led[1].process.pid)
    raise RunOpen(run=open_run.id, goal=open_run.goal)


def open_again(
    team: Team, git: Git, settings: Settings, *, catalogs: Catalogs, agreed: Mapping[str, Any] | None = None
) -> Opened:
    """The open run, led by this process from now on, with these catalogs, and limits named anew (`agreed`).

    Raises LeadAlive, NothingToResume, TasksNeverMade, and KeyNotAccepted before anything is written.
    """
    Keyring(team).establish()
    if open_stores(team, PERSON).runs.open_run() is None:
        raise NothingToResume
    term = take_term(team, ttl=team.mount.ttl(settings.lease_ttl_seconds))
    stores = open_stores(team, layout.bearer("lead", term))
    stamp(stores, term)
    run = stores.runs.open_run()
    if run is None:
        stores.leadership.end(term)
        raise NothingToResume
    if run.planned and not stores.tasks.all(run.id) and not stores.tasks.problems:
        end_run(stores, run.id, "stopped")
        stores.leadership.end(term)
        raise TasksNeverMade(run=run.id)
    digests = catalogs.pin(team.directory) | pin_policy(team.directory, settings)
    run = stores.runs.update(run.id, digests=digests, agreed={**run.agreed, **(agreed or {})})
    return Opened(stores=stores, git=git.pinned(), term=term, run=run)


def known_checks(settings: Settings, tasks: Sequence[PlannedTask]) -> dict[str, str]:
    """The configured checks, and the commands that a person wrote into tasks, named by themselves.

    Raises UnknownCheckName for a name that nobody defined and that is no command either.
    """
    defined = settings.checks
    wanted = [check for task in tasks for check in task.checks if check not in defined]
    for name in [*settings.every_task_checks, *wanted]:
        is_command = name in wanted and (len(name.split()) > 1 or shutil.which(name))
        if name not in defined and not is_command:
            raise UnknownCheckName(name=name, defined=", ".join(defined) or "none")
    return {**defined, **{check: check for check in wanted}}
