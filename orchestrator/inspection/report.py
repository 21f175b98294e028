"""What became of a run: who did what, when, at what use, and where the work is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from coordination import layout
from coordination.numbered_log import pretty
from coordination.records import Status, Task
from harness.models.ledger import Ledger
from harness.models.prices import Money, PriceTable
from orchestrator.inspection.story import SENT_BACK, Step, held_up, story
from orchestrator.inspection.use import ESTIMATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from coordination.records import Run
    from coordination.tasks.store import TaskStore
    from coordination.team_root import Team
    from coordination.usage import Usage

TOLD = {  # events of a task that a reader of the story wants, and their words
    "claim": "claimed",
    "resume": "resumed",
    "submit_plan": "submitted a plan for",
    "approve": "approved the plan for",
    "deny": "sent back the plan for",
    "withdraw": "withdrew the plan for",
    "refuse": "was turned back with",
    "release": "gave back",
    "reclaim": "took back from a lost holder",
    "complete": "completed",
    "fail": "ended as failed",
    "cancel": "cancelled",
    "merge": "merged",
    SENT_BACK: "sent back",
}


@dataclass(frozen=True, kw_only=True)
class Report:
    """A run as it stands on disk."""

    run: Run
    tasks: tuple[Task, ...]
    steps: tuple[Step, ...]
    usage: dict[str, Usage]  # by name of member
    money: dict[str, Money] = field(default_factory=dict)  # likewise
    models: dict[str, list[str]] = field(default_factory=dict)  # likewise, those that answered
    words: str = ""  # the lead's own summary
    held: Mapping[str, str] = field(default_factory=dict)  # task to why the queue waits for a person
    cut_short: str = ""  # why the run did not come to its end

    @property
    def is_whole(self) -> bool:
        """Every task is completed, and what it changed is on the branch."""
        return all(is_settled(task) for task in self.live_tasks) and bool(self.live_tasks)

    @property
    def live_tasks(self) -> list[Task]:
        """The tasks that no later task does again."""
        redone = {task.redo_of for task in self.tasks}
        return [task for task in self.tasks if task.id not in redone]

    @property
    def open_tasks(self) -> list[Task]:
        return [task for task in self.live_tasks if not is_settled(task)]

    @property
    def failed(self) -> list[Task]:
        return [task for task in self.live_tasks if task.status is Status.FAILED]

    @property
    def unverified(self) -> list[Task]:
        return [task for task in self.live_tasks if _is_unverified(task)]


def is_settled(task: Task) -> bool:
    """Nothing is left to do for the task: merged, or called off."""
    return task.status is Status.CANCELLED or (task.status is Status.COMPLETED and task.merged is not None)


def _is_unverified(task: Task) -> bool:
    """No check proves it, and no person has merged it."""
    proven = task.result and task.result.verified
    return task.status is Status.COMPLETED and not proven and task.merged is None


def make_report(
    team: Team, store: TaskStore, run: Run, words: str = "", *, prices: Iterable[str] = ()
) -> Report:
    """The report of a run, read from disk alone; money by the price table."""
    ledger = Ledger(team.directory, PriceTable(prices), run=run.id)
    ledger.refresh()
    tasks = tuple(store.all(run.id))
    return Report(
        run=run,
        tasks=tasks,
        steps=tuple(step for step in story(team, store, tasks) if step.event in TOLD),
        usage={name: ledger.usage["member", name] for name in ledger.names("member")},
        money={name: ledger.money("member", name) for name in ledger.names("member")},
        models={name: sorted(models) for name, models in ledger.models.items()},
        words=words,
        held=held_up(team),
    )


def save_report(team: Team, report: Report) -> None:
    """The report lies beside the run's records, as JSON."""
    team.directory.replace(layout.report(report.run.id), pretty(to_json(report)), durable=True)


def to_json(report: Report) -> dict[str, Any]:
    """The report for programs."""
    return {
        "run": report.run.id,
        "goal": report.run.goal,
        "state": report.run.state,
        "branch": report.run.branch,
        "tasks": [task.to_json() for task in report.tasks],
        "open": [task.id for task in report.open_tasks],
        "unverified": [task.id for task in report.unverified],
        "steps": [
            {"at": step.at, "by": step.by, "event": step.event, "task": step.task, "why": step.why}
            for step in report.steps
        ],
        "usage": {name: asdict(used) for name, used in report.usage.items()},
        "usd": {name: money.usd for name, money in report.money.items()},
        "models": report.models,
        "summary": report.words,
        "cut_short": report.cut_short,
    }


def render(report: Report) -> str:
    """The report for a person."""
    parts = [_head(report), _story(report), _by_member(report), _where(report)]
    return "\n\n".join(part for part in parts if part)


def _head(report: Report) -> str:
    done, live = sum(is_settled(task) for task in report.live_tasks), len(report.live_tasks)
    lines = [f"run {report.run.id}: {report.run.goal}"]
    if live or report.run.state != "done":
        lines.append(f"{done} of {live} tasks done and merged")
    else:
        lines.append("no task was needed")
    if report.cut_short:
        lines += ["", f"cut short: {report.cut_short}"]
    if report.words:
        lines += ["", report.words]
    return "\n".join(lines)


def _story(report: Report) -> str:
    rows = [
        f"  {step.at[11:19]}  {step.by:<10} {TOLD[step.event]} {step.subject}"
        + (f" ({step.why.splitlines()[0]})" if step.why else "")
        for step in report.steps
    ]
    return "\n".join(["who did what, when (UTC):", *rows]) if rows else ""


def _by_member(report: Report) -> str:
    if not report.usage:
        return ""
    head = f"{'in':>10}{'cached':>10}{'written':>10}{'out':>8}{'USD':>13}"
    rows = [f"  {'':<12}{'turns':>7}{head}  completed"]
    for name, used in report.usage.items():
        done = [
            task.subject for task in report.tasks if task.owner == name and task.status is Status.COMPLETED
        ]
        tokens = f"{used.input_tokens:>10}{used.cache_read_tokens:>10}{used.cache_write_tokens:>10}"
        rows.append(
            f"  {name:<12}{used.calls:>7}{tokens}{used.output_tokens:>8}{report.money[name]!s:>13}  "
            + (", ".join(done) or "-")
        )
    is_priced = any(money.usd for money in report.money.values())
    return "\n".join(["use of the model (tokens):", *rows, *([ESTIMATED] if is_priced else [])])


def _where(report: Report) -> str:
    lines = [
        f"open: {task.id} [{task.status}] {task.subject}" + (f" - {why}" if why else "")
        for task in report.open_tasks
        for why in [task.why or report.held.get(task.id)]
    ]
    lines += [
        f"unverified, not merged without you: {task.subject} (leadhand merge {task.id})"
        for task in report.unverified
    ]
    if report.run.state == "open":
        lines.append("this run is open: `leadhand resume` goes on with it, `leadhand stop` ends it")
    branch, base = report.run.branch, report.run.base[:12]
    if any(task.merged for task in report.tasks):
        lines += [
            f"the work is on branch {branch}; your own branch and files are untouched",
            f"  look:   git log --graph --oneline {base}..{branch}",
            f"  diff:   git diff {base}...{branch}",
            f"  merge:  git merge {branch}",
            f"  review: git push -u origin {branch}   (then open a pull request)",
        ]
    else:
        lines.append("nothing was merged; your own branch and files are untouched")
    return "\n".join(lines)
