"""How the team stands, from the disk alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.events import EventTail
from coordination.liveness import read_beat
from coordination.process import known_alive, known_dead
from coordination.protocols import PERSON, Kind
from coordination.records import MemberState, Status
from coordination.roster import since
from harness.tools.tasks import unproven_note
from orchestrator.inspection.hosts import host_rows, hosts
from orchestrator.inspection.pins import TAKE_UP, differences
from orchestrator.lead.standing import lost, mergeable, redone
from orchestrator.terminal.approvals import FOR_PERSONS, is_asker_there
from orchestrator.terminal.confirmation import asked_at_terminal, waits_there

if TYPE_CHECKING:
    from coordination.records import Member, Run, Task
    from coordination.requests import RequestState
    from coordination.stores import Stores
    from coordination.team_root import Team


UNSEEN = "that cannot be seen from here: should it be silent, `leadhand resume` takes over"


def status(stores: Stores, *, everybody: bool = False) -> dict[str, Any]:
    """The newest run, its tasks, members (or `everybody` who ever was) and open questions, for `render`."""
    return {
        "team": stores.team.id,
        "root": str(stores.team.root),
        "profile": str(stores.team.mount.profile),
        "hosts": hosts(stores.team.mount),
        "lead": _lead(stores),
        "asks_to_start": asked_at_terminal(stores),
        **at_work(stores, everybody=everybody),
        "problems": stores.tasks.problems,
        "security": ignored(stores.team),
        "differences": [difference.what for difference in differences(stores)],
    }


def at_work(stores: Stores, *, everybody: bool = False) -> dict[str, Any]:
    """Of these facts what a look each second may cost: the run, its tasks, members and questions."""
    runs = stores.runs.all()
    run = stores.runs.open_run() or (runs[-1] if runs else None)
    paused = stores.pauses.state()
    lead = _lead(stores)
    leads = lead is not None and lead["state"] == "alive"
    questions = open_questions(stores)
    known = stores.roster.all()
    members = since(stores.runs.began_in(run.id), known) if run and not everybody else known
    return {
        "paused": paused.to_json() if paused and paused.paused else None,
        "run": _run(run),
        "tasks": _board(stores.tasks.all(run.id) if run else []),
        "members": [_waiting(_member(stores, member, leads=leads), member, questions) for member in members],
        "left_before": len(known) - len(members),
        "questions": [_question(asked) for asked in questions],
    }


def ignored(team: Team) -> list[str]:
    """The records of questions that did not count, each once, as the processes of the team noticed them."""
    events = EventTail(team.directory).read_new()
    noticed = (event for event in events if event.get("action") == "security")
    found = (f"{event.get('request')}/{event.get('number')}: {event.get('why')}" for event in noticed)
    return list(dict.fromkeys(found))


def open_questions(stores: Stores) -> list[RequestState]:
    """The plans that wait for a decision by somebody who can still use it, and the calls."""
    return [
        asked
        for asked in stores.requests.open()
        if asked.question.kind in FOR_PERSONS and is_asker_there(stores, asked.question.asker)
    ]


def waiting_for_person(stores: Stores) -> set[str]:
    """The tasks that only a person can bring on: a call that waits has a deadline, a plan has none."""
    questions = [asked.question for asked in open_questions(stores)]
    plans = [asked for asked in questions if asked.kind == Kind.PLAN and asked.reviewer == PERSON]
    return {asked.task for asked in plans if asked.task}


def _lead(stores: Stores) -> dict[str, Any] | None:
    newest = stores.leadership.newest()
    if newest is None:
        return None
    term, lead = newest
    ended = lead.ended or known_dead(lead.process)
    state = "ended" if lead.ended else "dead" if ended else "alive"
    term -= lead.ended  # the end of a term has a number of its own
    seen = ended or known_alive(lead.process)
    return {"term": term, "state": state, "host": lead.process.host, "pid": lead.process.pid, "seen": seen}


def _run(run: Run | None) -> dict[str, Any] | None:
    return {"id": run.id, "goal": run.goal, "state": run.state, "branch": run.branch} if run else None


def _board(tasks: list[Task]) -> list[dict[str, Any]]:
    dead, again, merging = lost(tasks), redone(tasks), {task.id for task in mergeable(tasks)}
    open_tasks = {task.id for task in tasks if task.status is not Status.COMPLETED}

    def note(task: Task) -> str:
        if task.id in again:
            return "done again in a later task"
        if task.id in dead:
            return f"blocked for ever by {dead[task.id]}"
        if task.id in merging:
            return "waits to be merged"
        return unproven_note(task)

    return [
        {
            "id": task.id,
            "subject": task.subject,
            "status": str(task.status),
            "owner": task.owner,
            "blocked_by": [] if task.status.is_final else [n for n in task.blocked_by if n in open_tasks],
            "attempts": task.attempts,
            "refusals": task.refusals,
            "note": note(task),
        }
        for task in tasks
    ]


def _member(stores: Stores, member: Member, *, leads: bool) -> dict[str, Any]:
    state = str(member.state)
    if member.state is MemberState.ALIVE and known_dead(member.process):
        state = "restarting" if member.comes_back and leads else "dead"
    beat = (read_beat(stores.team, member.bearer) or b"").decode("ascii", "replace").split()
    task = beat[1] if state == "alive" and len(beat) > 1 and layout.TASK_ID.fullmatch(beat[1]) else None
    return {
        "name": member.name,
        "role": member.role,
        "model": member.model,
        "state": state,
        "host": member.process.host if member.process else None,
        "task": task,
        "waiting_on": member.waiting_on if state == "alive" else None,
        "why": member.why,
    }


def _waiting(facts: dict[str, Any], member: Member, questions: list[RequestState]) -> dict[str, Any]:
    """The facts of a member, with whom it waits for where it asked something."""
    for question in (asked.question for asked in questions if asked.question.asker == member.bearer):
        who = "the person" if question.reviewer == PERSON else "the lead"
        if question.kind == Kind.PERMISSION:  # what it asked for is on its way to run
            return facts | {"waiting_on": f"the word of {who} on {question.subject} ({question.id})"}
        if facts["waiting_on"]:
            return facts | {"waiting_on": f"the decision of {who} on its plan ({question.id})"}
    return facts


def _question(asked: RequestState) -> dict[str, Any]:
    question = asked.question
    return {
        "id": question.id,
        "kind": question.kind,
        "from": question.asker,
        "subject": question.subject,
        "reviewer": question.reviewer,
        "task": question.task,
        "at": question.at,
    }


def render(facts: dict[str, Any]) -> str:
    """The status for a person."""
    lead, run = facts["lead"], facts["run"]
    lines = [f"team directory {facts['root']}", *host_rows(facts)]
    led = f"lead: {lead['state']} (process {lead['pid']} on {lead['host']})" if lead else "no lead yet"
    led += "" if lead is None or lead["seen"] else f"; {UNSEEN}"
    is_left = lead and lead["state"] != "alive" and run and run["state"] == "open"
    lines.append(f"{led}; `leadhand resume` goes on, `leadhand stop` ends the run" if is_left else led)
    if facts["asks_to_start"]:
        lines.append(waits_there(facts["asks_to_start"]))
    if facts["paused"]:
        lines.append(f"the team rests since {facts['paused']['at']}; `leadhand continue` lets it go on")
    lines.append(f"run {run['id']} [{run['state']}]: {run['goal']}" if run else "no run yet")
    lines += _rows("tasks", [_task_row(task) for task in facts["tasks"]])
    several = len({member["host"] for member in facts["members"] if member["host"]}) > 1
    members = [_member_row(member, with_host=several) for member in facts["members"]]
    if facts["left_before"]:
        members.append(f"({facts['left_before']} more left before this run; `status --all` names them)")
    lines += _rows("members", members)
    lines += _rows("open questions", [_question_row(question) for question in facts["questions"]])
    lines += _rows("problems", [f"{task}: {why}" for task, why in facts["problems"].items()])
    lines += _rows("forged, late or outdated records that were passed over", facts["security"])
    lines += _rows(f"not what the run began with ({TAKE_UP})", facts["differences"])
    return "\n".join(lines)


def counted(number: int, what: str) -> str:
    """`1 holder`, `2 holders`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _rows(head: str, rows: list[str]) -> list[str]:
    return ["", f"{head}:", *(f"  {row}" for row in rows)] if rows else []


def _task_row(task: dict[str, Any]) -> str:
    notes = [task["note"]] if task["note"] else []
    notes += [f"waits for {', '.join(task['blocked_by'])}"] if task["blocked_by"] else []
    notes += [f"{counted(task['refusals'], 'completion')} refused"] if task["refusals"] else []
    notes += [f"{counted(task['attempts'], 'holder')} lost"] if task["attempts"] else []
    shown = f" ({'; '.join(notes)})" if notes else ""
    return f"{task['id']}  {task['status']:<12} {task['owner'] or '-':<10} {task['subject']}{shown}"


def _member_row(member: dict[str, Any], *, with_host: bool) -> str:
    doing = member["task"] or member["why"] or "-"
    if member["waiting_on"]:
        doing += f", waits for {member['waiting_on']}"
    where = f"{member['host'] or '-':<10} " if with_host else ""
    return f"{member['name']:<12} {member['state']:<10} {member['role']:<10} {where}{doing}"


def _question_row(question: dict[str, Any]) -> str:
    approve = f"leadhand approve {question['id']}"
    who = approve if question["reviewer"] == PERSON else f"the lead decides, or {approve}"
    asker = question["from"].partition("~")[0]
    return f"{question['id']}  {question['kind']} of {asker} for {question['subject']} ({who})"
