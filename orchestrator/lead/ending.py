"""The end of a run on record: its state, and no task left that somebody could still claim."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from coordination.records import Status
from orchestrator.inspection.report import make_report, save_report
from orchestrator.lead.outcome import Ending, ExitCode

if TYPE_CHECKING:
    from coordination.records import Run
    from coordination.stores import Stores
    from orchestrator.lead.parts import LeadParts


def end_run(stores: Stores, run_id: str, state: str) -> Run:
    """The run is done, failed or stopped; what was not finished is cancelled, its work kept."""
    for task in stores.tasks.all(run_id):
        if not task.status.is_final:
            stores.tasks.cancel(task.id, f"the run ended as {state}")
    stores.tasks.refresh_views()
    return stores.runs.update(run_id, state=state)


async def stop_team_of(parts: LeadParts) -> None:
    """No process of the team is left, and the term is over. Raises TermOver where a later lead has them."""
    await parts.behind(parts.background.check_term)  # the team of a later lead is not this one's to stop
    patience = parts.settings.stop_patience_seconds
    await parts.behind(parts.supervisor.stop_all, patience_seconds=patience)
    await parts.merging(parts.grounds.tidying.step)
    await parts.behind(_close_term, parts)
    parts.wakeup.close()


def _close_term(parts: LeadParts) -> None:
    parts.sweep.look()
    parts.background.tasks.refresh_views()
    if parts.background.leadership.is_current(parts.opened.term):
        parts.background.leadership.end(parts.opened.term)


def give_up_empty_run(parts: LeadParts) -> None:
    """A run in which nothing was begun does not stand in the way of the next one."""
    if all(task.status is Status.HELD for task in parts.tasks()):
        end_run(parts.background, parts.opened.run.id, "stopped")


def conclude(
    parts: LeadParts, code: ExitCode, words: str, *, cut_short: str = "", was_unasked: bool = False
) -> Ending:
    """The report is on disk, and a run that is over is ended; `words` are the last of the lead's model.

    A run that was `cut_short`, which says why, stays open for a later lead. `was_unasked` says that a
    call needed the person and nobody could be asked: a run that failed then waits for the person, open.
    """
    tasks, run = parts.background.tasks, parts.opened.run
    report = make_report(parts.opened.team, tasks, run, words, prices=parts.settings.prices)
    report = replace(report, cut_short=cut_short)
    if code is ExitCode.DONE and report.tasks and not report.is_whole:
        code = ExitCode.WAITING if report.unverified and not report.failed else ExitCode.FAILED
    if code is ExitCode.FAILED and was_unasked:
        code = ExitCode.WAITING
    if code in {ExitCode.DONE, ExitCode.FAILED} and not cut_short:
        state = "done" if code is ExitCode.DONE else "failed"
        report = replace(report, run=end_run(parts.background, parts.opened.run.id, state))
    save_report(parts.opened.team, report)
    return Ending(code=code, report=report)
