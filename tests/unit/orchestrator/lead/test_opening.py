"""Who may lead, and that a former lead can change nothing any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.fsck.fsck import inspect
from coordination.leadership import LeadAlive, Leadership
from coordination.liveness import Beat
from coordination.process import this_process
from coordination.protocols import Kind, TermOver
from coordination.records import MemberState, Verdict
from coordination.roster import StartWithdrawn
from coordination.stores import open_stores
from coordination.tasks.drafts import TaskDraft
from coordination.team_root import ForeignDirectory, NoTeam, Team, create_team, open_team
from harness.settings.settings import Settings
from orchestrator.lead.opening import (
    NoDirectory,
    NothingToResume,
    Opened,
    OtherRepository,
    RunOpen,
    TasksNeverMade,
    find_team,
    make_team,
    open_again,
    open_goal,
    stamp,
    take_term,
)
from orchestrator.tasks_file import PlannedTask
from tests.support.clock import FakeClock
from tests.support.people import comes_alive, dead, elsewhere, leads, stores_of
from tests.support.repository import Repository
from tests.support.trust import offered
from workspace.git import Git
from workspace.git_directory import NotARepository

if TYPE_CHECKING:
    from pathlib import Path

    from coordination.records import Term

TTL = 15.0
SETTINGS = Settings(model_id="scripted", sandbox="off", checks={"unit": "pytest"})


class BeatingClock(FakeClock):
    """While somebody waits on it, the far lead beats."""

    def __init__(self) -> None:
        super().__init__()
        self.beat: Beat | None = None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.beat:
            self.beat.beat()


def opened(team: Team, git: Git, *, tasks: tuple[PlannedTask, ...] = ()) -> Opened:
    return open_goal(
        team,
        git,
        SETTINGS,
        goal="Fix the shop",
        catalogs=offered(team.root, SETTINGS, git.place.tree),
        tasks=tasks,
        workers=0,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "project", {"a.py": "A = 1\n"})


@pytest.fixture
def git(repository: Repository) -> Git:
    return Git(repository.path)


# the term


def test_the_first_lead_has_term_1(team: Team) -> None:
    assert take_term(team, ttl=lambda: TTL) == 1


def test_a_lead_that_lives_here_is_told_with_process_and_host_without_waiting(
    team: Team, clock: FakeClock
) -> None:
    take_term(team, ttl=lambda: TTL)
    before, me = clock.monotonic(), this_process()
    with pytest.raises(LeadAlive, match=rf"process {me.pid} on {me.host}, term 1"):
        take_term(team, ttl=lambda: TTL)
    assert clock.monotonic() == before


def test_a_lead_that_began_between_two_looks_is_told(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = Leadership.newest

    def seen(leadership: Leadership) -> tuple[int, Term] | None:
        monkeypatch.undo()
        found = newest(leadership)
        take_term(team, ttl=lambda: TTL)
        return found

    monkeypatch.setattr(Leadership, "newest", seen)
    with pytest.raises(LeadAlive, match="term 1"):
        take_term(team, ttl=lambda: TTL)


def test_the_term_of_a_dead_lead_is_followed_at_once(team: Team, clock: FakeClock) -> None:
    leads(team, dead())
    before = clock.monotonic()
    assert take_term(team, ttl=lambda: TTL) == 2
    assert clock.monotonic() == before


def test_a_far_lead_is_followed_after_a_ttl_of_silence(team: Team, clock: FakeClock) -> None:
    leads(team, elsewhere())
    before = clock.monotonic()
    assert take_term(team, ttl=lambda: TTL) == 2
    assert clock.monotonic() - before == pytest.approx(TTL)


def test_a_far_lead_whose_beat_changes_goes_on_leading(tmp_path: Path) -> None:
    clock = BeatingClock()
    team = create_team(tmp_path, tmp_path, clock=clock)
    leads(team, elsewhere())
    clock.beat = Beat(team, "lead~1")
    with pytest.raises(LeadAlive, match="process 4711 on far"):
        take_term(team, ttl=lambda: TTL)


# the stamp of a new term


def test_an_old_lead_makes_no_task_and_changes_none_of_the_graph(team: Team) -> None:
    old = leads(team, dead())
    stamp(leads(team), 2)
    with pytest.raises(TermOver):
        old.tasks.create([TaskDraft(subject="A")])
    assert leads(team).tasks.all() == []


def test_an_old_lead_decides_no_question(team: Team) -> None:
    old = leads(team, dead())
    alice = stores_of(team, comes_alive(team, "alice"))
    question = alice.requests.ask(Kind.PLAN, "A", reviewer="lead")
    new = leads(team)
    stamp(new, 2)
    with pytest.raises(TermOver):
        old.requests.decide(question.id, Verdict.APPROVE)
    assert new.requests.decide(question.id, Verdict.DENY).by == "lead~2"
    assert alice.requests.get(question.id).answer


def test_an_old_lead_changes_no_roster_entry(team: Team) -> None:
    old = leads(team, dead())
    alice = comes_alive(team, "alice")
    stamp(leads(team), 2)
    with pytest.raises(TermOver):
        old.roster.update("alice", alice.incarnation, plan_required=True)
    member = old.roster.member("alice")
    assert member
    assert (member.state, member.term, member.plan_required) == (MemberState.ALIVE, 2, False)


def test_the_stamp_leaves_what_is_over_alone_and_can_be_repeated(team: Team) -> None:
    leads(team, dead())
    alice = comes_alive(team, "alice")
    new = leads(team)
    new.roster.closing("alice", alice.incarnation or 0)
    new.roster.closed("alice", alice.incarnation or 0, {})
    stamp(new, 2)
    entries = len(new.roster.history("alice"))
    stamp(new, 2)
    assert len(new.roster.history("alice")) == entries


def test_a_start_that_the_old_lead_left_behind_is_called_off(team: Team) -> None:
    old = leads(team, dead())
    start = old.roster.start("alice")
    new = leads(team)
    stamp(new, 2)
    member = new.roster.member("alice")
    assert member
    assert member.state is MemberState.WITHDRAWN
    with pytest.raises(StartWithdrawn):
        stores_of(team, start).roster.come_alive("alice", start.spawn_id)


# the run


def test_a_goal_opens_a_run_at_the_last_commit_with_checks_and_branch(
    team: Team, git: Git, repository: Repository
) -> None:
    run = opened(team, git).run
    assert (run.goal, run.state, run.base) == ("Fix the shop", "open", repository.head())
    assert (run.branch, run.checks) == (f"leadhand/{run.id}", {"unit": "pytest"})
    assert (run.model, run.worker_model, run.plan_reviewer) == ("scripted", "scripted", "lead")


def test_commands_that_a_person_wrote_into_tasks_are_checks_of_the_run(team: Team, git: Git) -> None:
    tasks = (PlannedTask(key="a", subject="A", checks=("unit", "make lint")),)
    assert opened(team, git, tasks=tasks).run.checks == {"unit": "pytest", "make lint": "make lint"}


def test_plans_for_tasks_of_a_person_are_judged_by_the_person_since_no_model_leads(
    team: Team, git: Git
) -> None:
    assert opened(team, git, tasks=(PlannedTask(key="a", subject="A"),)).run.plan_reviewer == "person"


def test_a_goal_alone_has_its_plans_judged_by_the_lead(team: Team, git: Git) -> None:
    assert opened(team, git).run.plan_reviewer == "lead"


def test_a_second_goal_is_refused_while_one_is_open_and_the_term_is_given_back(team: Team, git: Git) -> None:
    first = opened(team, git)
    first.stores.leadership.end(first.term)
    with pytest.raises(RunOpen, match=rf"{first.run.id} is still open \(Fix the shop\).*resume.*--team"):
        opened(team, git)
    assert (
        open_again(team, git, SETTINGS, catalogs=offered(team.root, SETTINGS, git.place.tree)).run.id
        == first.run.id
    )


def test_two_leads_of_one_team_are_refused(team: Team, git: Git) -> None:
    opened(team, git)
    with pytest.raises(LeadAlive):
        opened(team, git)
    with pytest.raises(LeadAlive):
        open_again(team, git, SETTINGS, catalogs=offered(team.root, SETTINGS, git.place.tree))


def test_a_run_is_taken_up_in_the_next_term(team: Team, git: Git) -> None:
    first = opened(team, git)
    first.stores.leadership.end(first.term)
    again = open_again(team, git, SETTINGS, catalogs=offered(team.root, SETTINGS, git.place.tree))
    assert (again.run.id, again.stores.actor) == (first.run.id, f"lead~{again.term}")
    assert again.term > first.term


def test_with_no_open_run_there_is_nothing_to_resume_and_no_term_is_taken(team: Team, git: Git) -> None:
    with pytest.raises(NothingToResume):
        open_again(team, git, SETTINGS, catalogs=offered(team.root, SETTINGS, git.place.tree))
    assert take_term(team, ttl=lambda: TTL) == 1


def test_a_run_whose_tasks_never_came_onto_the_board_is_not_taken_for_done(team: Team, git: Git) -> None:
    first = opened(team, git, tasks=(PlannedTask(key="a", subject="A"),))
    first.stores.leadership.end(first.term)
    with pytest.raises(TasksNeverMade, match="start it again with `leadhand run --tasks FILE`"):
        open_again(team, git, SETTINGS, catalogs=offered(team.root, SETTINGS, git.place.tree))
    assert first.stores.runs.get(first.run.id).state == "stopped"


# the team


def test_the_team_of_a_sub_directory_is_that_of_the_repository(repository: Repository) -> None:
    (repository.path / "src").mkdir()
    team, git = make_team(repository.path / "src", None)
    assert (team.root, git.place.tree) == (repository.path, repository.path)
    assert find_team(repository.path / "src", None).id == team.id


def test_a_new_team_leaves_the_persons_status_clean(repository: Repository) -> None:
    make_team(repository.path, None)
    assert repository.git("status", "--porcelain") == ""


def test_a_team_can_lie_elsewhere(repository: Repository, tmp_path: Path) -> None:
    team, _ = make_team(repository.path, tmp_path / "teams" / "one")
    assert (team.root, team.repository) == (tmp_path / "teams" / "one", repository.path)
    assert open_team(tmp_path / "teams" / "one").id == team.id


def test_a_folder_of_the_same_name_that_is_not_ours_is_refused(repository: Repository) -> None:
    repository.write({"mailboxes/list.txt": "mine"})
    with pytest.raises(ForeignDirectory, match="--team DIR"):
        make_team(repository.path, None)
    assert not (repository.path / layout.TEAM_FILE).exists()


def test_without_a_repository_there_is_no_team(tmp_path: Path) -> None:
    with pytest.raises(NotARepository):
        make_team(tmp_path, None)
    with pytest.raises(NoTeam):
        find_team(tmp_path, None)


def test_a_team_of_another_repository_is_refused_with_the_place_of_its_own(tmp_path: Path) -> None:
    ours, theirs = (Repository.create(tmp_path / name, {"a.py": ""}) for name in ("ours", "theirs"))
    make_team(theirs.path, None)
    with pytest.raises(OtherRepository, match=f"works on {theirs.path}, not on {ours.path}"):
        make_team(ours.path, theirs.path)
    assert ours.git("status", "--porcelain", "--ignored") == ""


def test_a_tree_of_the_same_repository_is_the_same(tmp_path: Path) -> None:
    ours = Repository.create(tmp_path / "ours", {"a.py": ""})
    ours.git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    team, _ = make_team(ours.path, tmp_path / "team")
    assert make_team(tmp_path / "tree", tmp_path / "team")[0].id == team.id


def test_what_is_no_directory_is_no_place_for_a_team(tmp_path: Path) -> None:
    ours = Repository.create(tmp_path / "ours", {"a.py": ""})
    for path in (ours.path / "a.py", ours.path / "a.py" / "below"):
        with pytest.raises(NoDirectory, match="is no directory; choose another"):
            make_team(ours.path, path)


def test_a_page_says_what_lies_in_tasks_and_mailboxes_and_one_that_is_there_stays(tmp_path: Path) -> None:
    ours = Repository.create(tmp_path / "ours", {".tasks/README.md": "the person's own\n"})
    team, _ = make_team(ours.path, None)
    assert (ours.path / ".tasks/README.md").read_text("utf-8") == "the person's own\n"
    assert "leadhand mail NAME" in (ours.path / "mailboxes/README.md").read_text("utf-8")
    assert ours.git("status", "--porcelain") == ""
    assert inspect(open_stores(team, "person")) == []
