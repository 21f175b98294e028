"""How a run ends, and the exit code that says so."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from coordination.errors import TeamError
from harness.models.limits import LimitReached
from harness.models.model import CredentialsMissing, CredentialsRefused, UnknownModel
from orchestrator.lead.standing import Standing

if TYPE_CHECKING:
    from orchestrator.inspection.report import Report


class ExitCode(IntEnum):
    """What the end of a command means (DESIGN 13)."""

    DONE = 0
    FAILED = 1  # the team failed or left tasks open
    USAGE = 2  # usage, configuration or trust
    WAITING = 3  # for a person
    LIMIT = 4  # a limit was reached
    INTERRUPTED = 130
    TERMINATED = 143


@dataclass(eq=False)
class ModelGaveUp(TeamError):
    """The lead's model gave no reply, so nobody leads."""

    cause: str
    exit_code: ExitCode
    says = "{cause}"


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a run ended."""

    code: ExitCode
    report: Report


def after_signal(code: ExitCode, stopped_by: signal.Signals | None) -> ExitCode:
    """The code of a run that a signal may have stopped."""
    match stopped_by:
        case None:
            return code
        case signal.Signals.SIGINT:
            return ExitCode.INTERRUPTED
        case _:
            return ExitCode.TERMINATED


def parting(state: Standing) -> ExitCode:
    """Of a session that the person leaves: with nothing left to do its run is over, else it stays open."""
    return ExitCode.DONE if state is Standing.DRAINED else ExitCode.WAITING


def code_of(error: TeamError | None) -> ExitCode:
    """Of a run whose model gave no reply: wrong settings are the person's to mend."""
    if isinstance(error, LimitReached):
        return ExitCode.LIMIT
    wrong = isinstance(error, CredentialsMissing | CredentialsRefused | UnknownModel)
    return ExitCode.USAGE if wrong else ExitCode.FAILED
