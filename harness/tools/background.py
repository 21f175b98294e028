"""Shell work that outlives a turn: start, follow, end, and tell its agent of the end once."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self

import anyio
import msgspec

from coordination import layout
from coordination.background import HowEnded, Job, JobChanged, JobState
from coordination.errors import TeamError
from coordination.process import process_here
from harness.journal import read
from harness.loop import Inbox, Incoming
from harness.off_loop import OffLoop
from harness.tool import ToolContext, ToolFailure
from harness.tools.background_news import notification, placeholder, tail_of
from harness.tools.background_process import BackgroundProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyio.abc import TaskGroup

    from coordination.background import Jobs
    from coordination.files import StateDirectory
    from harness.settings.tools import ToolSettings
    from harness.tool import Record

BACKGROUND_KIND = "background"  # of the journal line that tells of an end, and is its delivery

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class BackgroundLimits:
    """How much an agent may have running beside its conversation."""

    max_running: int  # commands at the same time
    timeout_seconds: float  # of one that names no other
    output_bytes: int  # of one command; the process is then ended
    shown_characters: int  # of the end of its output, in the notification

    @classmethod
    def of(cls, settings: ToolSettings) -> Self:
        """Those of the settings."""
        return cls(
            max_running=settings.background_max_running,
            timeout_seconds=settings.background_timeout_seconds,
            output_bytes=settings.background_output_bytes,
            shown_characters=settings.result_preview_characters,
        )


@dataclass(eq=False)
class _Running:
    job: Job
    process: BackgroundProcess
    timeout_seconds: float
    context: ToolContext
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    done: anyio.Event = field(default_factory=anyio.Event)
    why: str = "its agent stopped"


class Background(Inbox):
    """The background commands of one agent; as an `Inbox` it brings the news of their ends."""

    def __init__(
        self,
        jobs: Jobs,
        directory: StateDirectory,
        *,
        limits: BackgroundLimits,
        record: Record,
        ring: Callable[[], None],
        task: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`jobs` belong to this object alone; `ring` wakes whoever waits for news."""
        self._jobs = jobs
        self._off_loop = OffLoop()
        self._directory = directory
        self._limits = limits
        self._record = record
        self._ring = ring
        self._task = task
        self._group: TaskGroup | None = None
        self._starting = anyio.Lock()
        self._running: dict[str, _Running] = {}
        self._untold: list[Job] = []
        self._handed: list[Job] = []

    @property
    def running(self) -> list[str]:
        """Ids of the commands that run."""
        return list(self._running)

    @property
    def has_news(self) -> bool:
        """True when an end is still to be told."""
        return bool(self._untold)

    def recover(self, bearers: Sequence[str]) -> None:
        """What earlier processes of this agent left: ended with them, and told unless they told it.

        Blocks; to be called before `serve`.
        """
        left = [job for job in self._jobs.all() if job.bearer in bearers and job.state is not JobState.TOLD]
        told = {job for bearer in bearers for job in self._told_by(bearer)} if left else set()
        for job in left:
            ended = self._jobs.ended(job.id, HowEnded.LOST) if job.state is JobState.RUNNING else job
            if ended.id in told:
                self._jobs.told(ended.id)
            else:
                self._untold.append(ended)

    def _told_by(self, bearer: str) -> list[str]:
        lines = read(self._directory, layout.journal(bearer))
        return [line["job"] for line in lines if line["kind"] == BACKGROUND_KIND]

    async def serve(self) -> None:
        """Commands may be started until this is cancelled; then all are ended, their ends on record."""
        try:
            async with anyio.create_task_group() as self._group:
                await anyio.sleep_forever()
        finally:
            self._group = None

    async def start(self, command: str, context: ToolContext, timeout_seconds: float | None = None) -> Job:
        """The command runs in a process group of its own, with its input closed.

        Raises ToolFailure, NoWorkingDirectory, OSError, StateUnwritable; then nothing runs.
        """
        async with self._starting:
            if self._group is None:
                raise ToolFailure(code="stopping", detail="this process is about to stop; start nothing new")
            if len(self._running) >= self._limits.max_running:
                detail = (
                    f"{', '.join(self._running)} run already; wait for one, or end it with kill_background"
                )
                raise ToolFailure(code="too_many", detail=detail)
            with anyio.CancelScope(shield=True):  # cancelled half way, a start would leave its process behind
                job, process = await self._begin(command, context)
            seconds = timeout_seconds or self._limits.timeout_seconds
            running = _Running(job=job, process=process, timeout_seconds=seconds, context=context)
            self._running[job.id] = running
            self._group.start_soon(self._follow, running)
        self._record("background_started", job=job.id, command=command, sandboxed=context.is_confined)
        return job

    async def placeholder(self, command: str, context: ToolContext, timeout_seconds: float | None) -> str:
        """The command runs; the text says so. Raises as `start`."""
        return placeholder(self._directory, await self.start(command, context, timeout_seconds))

    async def _begin(self, command: str, context: ToolContext) -> tuple[Job, BackgroundProcess]:
        job, output = self._jobs.new()
        process = await BackgroundProcess.start(command, context, await self._off_loop(self._open, output))
        try:
            started = await self._off_loop(
                self._jobs.started,
                job,
                command,
                output=output,
                directory=str(context.cwd()),
                process=process_here(process.pid),
                task=self._task(),
            )
        except TeamError:  # what is not on record does not run
            await process.end()
            raise
        return started, process

    def _open(self, output: str) -> int:
        self._directory.make(output.rpartition("/")[0])
        return self._directory.open_append(output)

    async def _follow(self, running: _Running) -> None:
        how, process = HowEnded.KILLED, running.process
        try:
            with running.context.groups.holding(process.pid), running.scope:
                how = await process.until_over(
                    seconds=running.timeout_seconds, is_too_long=partial(self._is_too_long, running.job)
                )
        finally:
            with anyio.CancelScope(shield=True):
                await process.end()
                await self._note_end(running, how)

    def _is_too_long(self, job: Job) -> bool:
        return self._directory.read_from(job.output, 0, 0)[1] > self._limits.output_bytes

    async def _note_end(self, running: _Running, how: HowEnded) -> None:
        job, process = running.job, running.process
        end = partial(
            self._jobs.ended,
            job.id,
            how,
            exit_code=process.exit_code,
            signal=process.signal,
            why=running.why if how is HowEnded.KILLED else "",
        )
        try:
            job = await self._off_loop(end)
        except TeamError as error:  # a full disk; its agent hears of the end all the same
            logger.warning("the end of %s is not on record: %s", job.id, error, extra={"action": "job_lost"})
            job = msgspec.structs.replace(job, state=JobState.ENDED, how=how, exit_code=process.exit_code)
        del self._running[job.id]
        self._untold.append(job)
        self._record("background_ended", job=job.id, how=str(how), exit_code=job.exit_code, signal=job.signal)
        running.done.set()
        self._ring()

    async def kill(self, job_id: str, why: str) -> Job:
        """No process of the command is left. Raises UnknownJob, ToolFailure for one that is not running."""
        running = self._running.get(job_id)
        if running is None:
            job = await self._off_loop(self._jobs.get, job_id)
            raise ToolFailure(
                code="not_running", detail=f"{job_id} is not running: it is {job.how or 'not yours'}"
            )
        await self._kill([running], why)
        return await self._off_loop(self._jobs.get, job_id)

    async def kill_all(self, why: str) -> None:
        """No command runs any more."""
        await self._kill(list(self._running.values()), why)

    async def _kill(self, doomed: Sequence[_Running], why: str) -> None:
        for running in doomed:
            running.why = why
            running.scope.cancel()
        for running in doomed:
            await running.done.wait()

    async def started_here(self) -> list[Job]:
        """The commands that this process started, oldest first."""
        return [job for job in await self._off_loop(self._jobs.all) if job.bearer == self._jobs.actor]

    async def tail(self, job_id: str, lines: int) -> tuple[Job, str]:
        """The command and the last lines of its output so far. Raises UnknownJob."""
        job = await self._off_loop(self._jobs.get, job_id)
        return job, await self._off_loop(tail_of, self._directory, job, lines=lines)

    async def take(self) -> list[Incoming]:
        """The ends that nobody was told of yet: each goes to one caller."""
        ended, self._untold = self._untold, []
        self._handed += ended
        return [await self._off_loop(self._told, job) for job in ended]

    def _told(self, job: Job) -> Incoming:
        text = notification(self._directory, job, characters=self._limits.shown_characters)
        return Incoming(text=text, kind=BACKGROUND_KIND, journal={"job": job.id})

    async def settle(self) -> None:
        """What was taken is in the journal, and that is on record."""
        handed, self._handed = self._handed, []
        for job in handed:
            try:
                await self._off_loop(self._jobs.told, job.id)
            except JobChanged:  # its end never got on record, or was told by a successor
                continue
