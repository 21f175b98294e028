"""What a model reads of its background commands: the notification of an end, lists and tails."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from coordination.background import JobState
from coordination.errors import NotRegularFile

if TYPE_CHECKING:
    from coordination.background import Job
    from coordination.files import StateDirectory

TAIL_BYTES = 256_000  # of an output, that are looked at
LONGEST_LINE = 2000  # characters of a line that are shown


def notification(directory: StateDirectory, job: Job, *, characters: int) -> str:
    """The end of a command as data, framed so that no output can pass for another event."""
    marks = {
        "id": job.id,
        "status": job.how,
        "exit_code": job.exit_code,
        "signal": job.signal,
        "why": job.why,
        "command": job.command,
        "output": directory.path / job.output,
    }
    shown = " ".join(
        f'{key}="{escape(str(value))}"' for key, value in marks.items() if value not in {None, ""}
    )
    text = tail_of(directory, job, lines=200)[-characters:]
    return f"<task_notification {shown}>\n{escape(text, quote=False) or '(no output)'}\n</task_notification>"


def placeholder(directory: StateDirectory, job: Job) -> str:
    """The immediate result of a call that goes on in the background."""
    return (
        f"{job.id} is running in the background. You will be told of its end once; do not wait or poll. "
        f"tail_background and kill_background look after it; its output goes to {directory.path / job.output}"
    )


def one_line(job: Job) -> str:
    """A row of a list."""
    return f"{job.id} [{standing(job)}] {' '.join(job.command.split())[:120]}"


def standing(job: Job) -> str:
    """Whether it runs, or how it ended."""
    if job.state is JobState.RUNNING:
        return "running"
    end = f"exit code {job.exit_code}" if job.exit_code is not None else job.signal
    return ", ".join(str(part) for part in (job.how, end, job.why) if part)


def tail_of(directory: StateDirectory, job: Job, *, lines: int) -> str:
    """The last lines of the output so far; bytes that are no UTF-8 are shown as replacement characters."""
    try:
        data, _ = directory.read_from(job.output, -TAIL_BYTES, TAIL_BYTES)
    except (OSError, NotRegularFile):
        return "(its output is gone)"
    text = data.decode("utf-8", "replace").rstrip("\n")
    return "\n".join(line[:LONGEST_LINE] for line in text.split("\n")[-lines:])
