"""Background commands on disk: started, ended and told, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from coordination import layout
from coordination.background import HowEnded, Job, JobChanged, JobRules, Jobs, JobState, UnknownJob
from coordination.errors import InvalidRecord
from coordination.numbered_log import Record
from coordination.process import this_process

if TYPE_CHECKING:
    from coordination.team_root import Team


def starts(jobs: Jobs, command: str = "make") -> Job:
    job, output = jobs.new()
    return jobs.started(
        job, command, output=output, directory="/tree", process=this_process(), task="task_00000001"
    )


def test_a_command_is_found_by_everybody_with_its_end(team: Team) -> None:
    jobs = Jobs(team, "alice~2")
    job = starts(jobs)
    assert layout.JOB_ID.fullmatch(job.id)
    assert (job.state, job.bearer, job.output) == (
        JobState.RUNNING,
        "alice~2",
        f".team/outputs/alice~2/{job.id}.txt",
    )
    ended = jobs.ended(job.id, HowEnded.FAILED, exit_code=3)
    assert Jobs(team, "person").all() == [ended]
    assert (ended.state, ended.exit_code, ended.command) == (JobState.ENDED, 3, "make")


def test_two_starts_have_two_ids(team: Team) -> None:  # T39
    jobs = Jobs(team, "alice~2")
    first, second = starts(jobs), starts(jobs)
    assert {job.id for job in jobs.all()} == {first.id, second.id}
    assert first.id != second.id


def test_an_end_is_told_once(team: Team) -> None:
    mine, other = Jobs(team, "alice~2"), Jobs(team, "alice~3")
    job = starts(mine)
    mine.ended(job.id, HowEnded.COMPLETED, exit_code=0)
    other.told(job.id)
    with pytest.raises(JobChanged, match="is told already"):
        mine.told(job.id)


def test_a_command_ends_once_and_is_not_told_before(team: Team) -> None:
    jobs = Jobs(team, "alice~2")
    job = starts(jobs)
    with pytest.raises(JobChanged):
        jobs.told(job.id)
    jobs.ended(job.id, HowEnded.LOST)
    with pytest.raises(JobChanged):
        jobs.ended(job.id, HowEnded.COMPLETED)


@pytest.mark.parametrize("job", ["bg_00000000", "../lead", ""])
def test_an_unknown_command_is_an_error_that_lists_the_known(team: Team, job: str) -> None:
    jobs = Jobs(team, "alice~2")
    known = starts(jobs)
    with pytest.raises(UnknownJob, match=f"known are: {known.id}"):
        jobs.get(job)


@pytest.mark.parametrize(
    "changes", [{"id": "bg_00000000"}, {"state": "told"}, {"command": "rm"}, {"bearer": "bob~1"}], ids=str
)
def test_a_record_that_breaks_the_rules_does_not_count(team: Team, changes: dict[str, Any]) -> None:
    job = starts(Jobs(team, "alice~2"))
    body = {**job.to_json(), "state": "ended", "how": "failed", **changes}
    with pytest.raises(InvalidRecord):
        JobRules(job.id).check(job, Record(number=2, prev=1, commit_id="c", body=body))
