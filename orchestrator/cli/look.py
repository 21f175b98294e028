"""The verbs that look: status, tasks, mail, plan, logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from coordination import layout
from coordination.errors import InvalidRecord, NotRegularFile, StateUnreadable, UsageError
from coordination.protocols import LEAD, PERSON
from coordination.records import BY_HAND, Message
from orchestrator.cli.board import add_task, cancel_task, redo_task
from orchestrator.cli.shared import fitted, json_option, looking_verb, persons_stores, show, team_option
from orchestrator.terminal.plain import echo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from coordination.mail.state import SentMail
    from coordination.records import Task
    from coordination.stores import Stores
    from orchestrator.inspection.story import Step

LAST_LINES = 200  # of a log, unless --all


@click.command()
@click.option("--all", "everybody", is_flag=True, help="Also the members who left before this run.")
@json_option
@team_option
def status(*, everybody: bool, as_json: bool, team_directory: Path | None) -> None:
    """Show the run, its tasks, its members and the open questions."""
    from orchestrator.inspection import status as facts_of

    facts = facts_of.status(persons_stores(team_directory), everybody=everybody)
    show(facts, as_json, lambda: facts_of.render(facts))


@looking_verb
@click.option("--run", "run_id", help="Tasks of this run; without it of all.")
@json_option
@team_option
def tasks(*, run_id: str | None, as_json: bool, team_directory: Path | None) -> None:
    """Show the board, or with one of the commands look at a task or change the board."""
    from harness.tools.tasks import one_line
    from orchestrator.inspection.status import at_work

    stores = persons_stores(team_directory)
    board = stores.tasks.all(run_id)
    broken = stores.tasks.problems
    waits = {member["task"]: member["waiting_on"] for member in at_work(stores)["members"]}

    def row(task: Task) -> str:
        waits_for = waits.get(task.id)
        return one_line(task) + (f", waits for {waits_for}" if waits_for else "")

    rows = [
        *(fitted(task, row) for task in board),
        *(f"{task}  [unreadable] {why}" for task, why in broken.items()),
    ]
    facts = [task.to_json() for task in board]
    facts += [{"id": task, "status": "unreadable", "why": why} for task, why in broken.items()]
    show(facts, as_json, lambda: "\n".join(rows) or "no tasks yet")


for change in (add_task, cancel_task, redo_task):
    tasks.add_command(change)


@tasks.command("show")
@click.argument("task_id")
@json_option
@team_option
def show_task(task_id: str, *, as_json: bool, team_directory: Path | None) -> None:
    """Show one task in full, with its history."""
    from dataclasses import asdict

    from orchestrator.inspection.story import story

    stores = persons_stores(team_directory)
    task = stores.tasks.get(task_id)
    steps = story(stores.team, stores.tasks, [task])
    show(
        {"task": task.to_json(), "history": [asdict(step) for step in steps]},
        as_json,
        lambda: _in_full(task, steps),
    )


def _in_full(task: Task, steps: Sequence[Step]) -> str:
    lines = [f"{task.id}  [{task.status}]  {task.subject}"]
    lines += ["", task.description] if task.description else []
    facts = {
        "owner": task.owner,
        "blocked by": ", ".join(task.blocked_by),
        "checks": ", ".join(task.checks),
        "worktree": task.worktree,
        "branch": task.branch,
        "commit": task.commit,
        "merged as": task.merged,
    }
    lines += ["", *(f"{name}: {value}" for name, value in facts.items() if value)]
    if task.result:
        lines += ["", f"result: {task.result.text}", task.result.diff]
        lines += [f"check {check.name}: exit code {check.exit_code}" for check in task.result.checks]
    lines += ["", "history:"]
    lines += [
        f"  {step.number or '-':>3}  {step.at}  {step.event:<12} {step.by}  {_indented(step.why)}"
        for step in steps
    ]
    return "\n".join(lines)


def _indented(why: str) -> str:
    return why.strip().replace("\n", "\n       ")


@click.command()
@click.argument("name", required=False)
@click.option("--sent", is_flag=True, help="What NAME has sent (without NAME: you), and what became of it.")
@json_option
@team_option
def mail(*, name: str | None, sent: bool, as_json: bool, team_directory: Path | None) -> None:
    """Show what a member has received, over all its incarnations, and what waits for it; else the lead."""
    stores = persons_stores(team_directory)
    if sent:
        _show_sent(stores, name or PERSON, as_json=as_json)
        return
    name = name or "lead"
    if name != "lead" and stores.roster.member(name) is None:
        known = ", ".join(["lead", *stores.roster.names()])
        raise UsageError(detail=f"there is no member {name}; known are {known}")
    from coordination.mail.state import on_its_way

    waiting = on_its_way(stores.team, stores.roster, name)
    messages = [*_received(stores, name), *({**one.to_json(), "taken": False} for one in waiting)]
    show(messages, as_json, lambda: "\n\n".join(map(_message, messages)) or f"{name} has no mail yet")


def _show_sent(stores: Stores, name: str, *, as_json: bool) -> None:
    from coordination.mail.state import sent_by

    found = sent_by(stores.team, stores.roster, name)
    show(
        [{"state": str(mail.state), **mail.message.to_json()} for mail in found],
        as_json,
        lambda: "\n".join(map(_sent_row, found)) or f"{name} has sent no mail yet",
    )


def _sent_row(mail: SentMail) -> str:
    message = mail.message
    begin = message.content.partition("\n")[0][:60]
    return f"{message.sent_at or 'by hand':<24}  to {message.to:<10} {mail.state:<10} {message.id}  {begin}"


def _received(stores: Stores, name: str) -> list[dict[str, Any]]:
    directory = stores.team.directory
    bearers = [layout.split_bearer(file.removesuffix(".jsonl")) for file in directory.names(layout.MAILBOXES)]
    incarnations = sorted(number for bearer in bearers if bearer for who, number in [bearer] if who == name)
    messages: list[dict[str, Any]] = []
    for number in incarnations:
        path = layout.received(layout.bearer(name, number))
        try:
            messages += _messages(path, directory.read_patiently(path))
        except (NotRegularFile, StateUnreadable) as error:
            echo(f"leadhand: {error}", err=True)
    return messages


def _messages(path: str, data: bytes) -> list[dict[str, Any]]:
    """The messages in a file; lines that are none are told, and the rest goes on."""
    messages, bad = [], 0
    for line in filter(bytes.strip, data.split(b"\n")):
        try:
            raw = msgspec.json.decode(line, type=dict[str, Any])
            messages.append(Message.from_json(raw).to_json())
        except (msgspec.DecodeError, UnicodeDecodeError, InvalidRecord):
            bad += 1
    if bad:
        echo(f"leadhand: {bad} lines of {path} are no messages and were passed over", err=True)
    return messages


def _message(message: dict[str, Any]) -> str:
    unproven = "" if message.get("proven", True) else " (unproven)"
    unproven += "" if message.get("taken", True) else " (on its way)"
    head = f"{message['sent_at']}  {message['from']}{unproven}  [{message['type']}]"
    return "\n".join([head, *(f"    {line}" for line in message["content"].splitlines())])


@click.command()
@click.argument("task_id")
@json_option
@team_option
def plan(*, task_id: str, as_json: bool, team_directory: Path | None) -> None:
    """Show the plans of a task and what was decided."""
    stores = persons_stores(team_directory)
    stores.tasks.get(task_id)
    plans = [version.plan for _, version in stores.tasks.history(task_id) if version.plan]
    asked = [stores.requests.get(request) for request in dict.fromkeys(plan.request for plan in plans)]
    rows = [
        {
            "request": state.question.id,
            "plan": state.question.plan,
            "by": state.question.asker,
            "text": state.question.question,
            "verdict": state.answer and str(state.answer.verdict),
            "decided_by": state.answer and state.answer.by,
            "reason": state.answer and state.answer.reason,
        }
        for state in asked
    ]
    show(rows, as_json, lambda: "\n\n".join(map(_plan, rows)) or f"no plan for {task_id} yet")


def _plan(row: dict[str, Any]) -> str:
    verdict = f"{row['verdict']} by {row['decided_by']}" if row["verdict"] else "waits for its reviewer"
    reason = f": {row['reason']}" if row["reason"] else ""
    return f"plan {row['plan']} ({row['request']}) by {row['by']}: {verdict}{reason}\n\n{row['text']}"


@click.command()
@click.argument("name")
@click.option("--all", "whole", is_flag=True, help=f"All of it, not only the last {LAST_LINES} lines.")
@team_option
def logs(*, name: str, whole: bool, team_directory: Path | None) -> None:
    """Show what a teammate's process wrote to its log; of the lead, which has none, what it did."""
    stores = persons_stores(team_directory)
    directory = stores.team.directory
    if name == LEAD:
        from orchestrator.terminal.console import lines_of

        _show_lines(lines_of(directory, LEAD), whole=whole)
        return
    try:
        text = directory.read(layout.process_log(name)) if layout.MEMBER_NAME.fullmatch(name) else None
    except (FileNotFoundError, NotRegularFile):
        text = None
    member = stores.roster.member(name)
    if text is None and member and member.launcher == BY_HAND:
        raise UsageError(detail=f"{name} was started by hand: it wrote to the terminal it was started in")
    if text is None:
        names = (file.removesuffix(".log") for file in directory.names(layout.LOGS))
        known = ", ".join([LEAD, *sorted(filter(layout.MEMBER_NAME.fullmatch, names))])
        raise UsageError(detail=f"there is no log of {name}; known are {known}")
    _show_lines(text.decode("utf-8", "replace").splitlines(), whole=whole)


def _show_lines(lines: list[str], *, whole: bool) -> None:
    echo("\n".join(lines if whole else lines[-LAST_LINES:]) or "the log is empty")
