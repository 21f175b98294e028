"""Commands that outlive a turn: each a numbered log from its start to the telling of its end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from coordination import layout
from coordination.clock import iso
from coordination.errors import InvalidRecord, TeamError
from coordination.identity import ProcessIdentity, new_id
from coordination.json_form import scrub
from coordination.numbered_log import LogKind, Logs, Record
from coordination.records import JsonRecord

if TYPE_CHECKING:
    from coordination.team_root import Team


class JobState(StrEnum):
    """Where a background command stands."""

    RUNNING = "running"
    ENDED = "ended"  # and nobody has told its agent yet
    TOLD = "told"  # the end is in the conversation of its agent


class HowEnded(StrEnum):
    """What ended a command."""

    COMPLETED = "completed"  # exit code 0
    FAILED = "failed"  # another exit code, or a signal that was not ours
    KILLED = "killed"  # somebody asked for it, or its agent stopped or left the task
    TIMED_OUT = "timed_out"
    TOO_LONG = "too_long"  # its output outgrew the limit
    LOST = "lost"  # with the process that ran it


_NEXT: dict[JobState | None, JobState] = {
    None: JobState.RUNNING,
    JobState.RUNNING: JobState.ENDED,
    JobState.ENDED: JobState.TOLD,
}


class Job(JsonRecord, frozen=True, kw_only=True):
    """A background command, one version of it."""

    id: str
    command: str
    state: JobState
    how: HowEnded | None = None  # once it has ended
    exit_code: int | None = None  # None while it runs, and when a signal ended it
    signal: str | None = None  # name of the signal that ended it
    why: str = ""  # a killed one: who wanted it gone
    bearer: str  # the process that runs it: `alice~7`
    task: str | None = None  # the task it was started for
    directory: str  # where it was started
    output: str  # file of its output, relative to the root
    process: ProcessIdentity  # leader of its process group
    at: str  # time of this version
    started_at: str


@dataclass(eq=False)
class UnknownJob(TeamError):
    """No background command has this id."""

    job: str
    known: str
    says = "there is no background command {job}; known are: {known}"


@dataclass(eq=False)
class JobChanged(TeamError):
    """Somebody else has ended or told the command already."""

    job: str
    state: str
    says = "the background command {job} is {state} already"


class JobRules:
    """Started, ended, told, each once; what was started stays what it is."""

    def __init__(self, job: str) -> None:
        self._job = job

    def check(self, state: Job | None, record: Record) -> None:
        job = Job.from_json(record.body)
        if job.id != self._job:
            raise InvalidRecord(why="the command has another id than its log")
        before = state.state if state else None
        if _NEXT.get(before) is not job.state:
            raise InvalidRecord(why=f"a command that is {before or 'new'} cannot become {job.state}")
        if state and (job.command, job.bearer, job.process) != (state.command, state.bearer, state.process):
            raise InvalidRecord(why="command, bearer and process do not change")

    def apply(self, state: Job | None, record: Record) -> Job:  # noqa: ARG002 - the protocol of a log
        return Job.from_json(record.body)


JOB = LogKind(name="background", parent=layout.BACKGROUND, ids=layout.JOB_ID, rules=JobRules)


class Jobs:
    """The background commands of the team; an object belongs to one thread."""

    def __init__(self, team: Team, actor: str) -> None:
        self.actor = actor
        self._team = team
        self._logs = Logs(team.directory, JOB)

    def new(self) -> tuple[str, str]:
        """A fresh id, and the file for its output relative to the root."""
        job = new_id("bg")
        return job, f"{layout.outputs(self.actor)}/{job}.txt"

    def started(
        self,
        job: str,
        command: str,
        *,
        output: str,
        directory: str,
        process: ProcessIdentity,
        task: str | None,
    ) -> Job:
        """The command runs. Raises StateUnwritable."""
        now = iso(self._team.clock.now())
        record = Job(
            id=job,
            command=scrub(command),
            state=JobState.RUNNING,
            bearer=self.actor,
            task=task,
            directory=directory,
            output=output,
            process=process,
            at=now,
            started_at=now,
        )
        return self._logs[job].commit(lambda _state, _number: record.to_json())

    def ended(
        self,
        job: str,
        how: HowEnded,
        *,
        exit_code: int | None = None,
        signal: str | None = None,
        why: str = "",
    ) -> Job:
        """It does not run any more. Raises JobChanged when that was on record already."""
        return self._step(job, JobState.ENDED, how=how, exit_code=exit_code, signal=signal, why=why)

    def told(self, job: str) -> Job:
        """Its end is in the conversation of its agent. Raises JobChanged when another told it."""
        return self._step(job, JobState.TOLD)

    def get(self, job: str) -> Job:
        """The newest version. Raises UnknownJob."""
        state = self._logs[job].refresh() if layout.JOB_ID.fullmatch(job) else None
        if state is None:
            self._logs.pop(job, None)
            raise UnknownJob(job=job, known=", ".join(known.id for known in self.all()) or "none")
        return state

    def all(self) -> list[Job]:
        """Every command, oldest first."""
        return sorted(self._logs.states(), key=lambda job: (job.started_at, job.id))

    def _step(self, job: str, after: JobState, **fields: object) -> Job:
        self.get(job)

        def draft(state: Job | None, _: int) -> dict[str, Any]:
            assert state is not None
            if _NEXT.get(state.state) is not after:
                raise JobChanged(job=job, state=state.state)
            now = iso(self._team.clock.now())
            return msgspec.structs.replace(state, state=after, at=now, **fields).to_json()

        return self._logs[job].commit(draft)
