"""What must hold after all accidents: every task done once, every message delivered once, nothing left."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.json_form import json_object
from coordination.mail.lines import Delivery, sender_name
from coordination.mail.positions import CHECKPOINT_KIND, DELIVERY_KIND, account_of
from coordination.mail.state import MailState, sent_by
from coordination.protocols import LEAD, PERSON
from coordination.records import MemberState
from orchestrator.chaos.stage import MARKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from coordination.files import StateDirectory
    from coordination.records import Run, Task
    from coordination.stores import Stores
    from workspace.git import Git

Heard = Counter[tuple[str, str]]  # sender's name and id of a message, and how often it was delivered


def task_faults(stores: Stores, git: Git, runs: list[Run], keys: Iterable[str]) -> list[str]:
    """What is wrong with the tasks of a tasks file, each of which has one of these subjects."""
    faults, by_key = [], defaultdict(list)
    for task in stores.tasks.all():
        by_key[task.subject].append(task)
    branches = [run.branch for run in runs if git.tip(run.branch)]
    merges = Counter(subject for branch in branches for subject in _subjects(git, branch))
    for key in keys:
        done = [task for task in by_key[key] if task.merged]
        if len(done) != 1:
            faults.append(f"{key}: merged {len(done)} times: {_story(by_key[key])}")
        elif merges[f"Merge {key}"] != 1:
            faults.append(f"{key}: {merges[f'Merge {key}']} merges on {', '.join(branches)}")
        elif git.run("show", f"{branches[-1]}:{MARKS}/{done[0].id}").strip() != done[0].id:
            faults.append(f"{key}: its mark is not there once")
    return faults


def _subjects(git: Git, branch: str) -> list[str]:
    return git.run("log", "--first-parent", "--format=%s", branch).splitlines()


def _story(tasks: list[Task]) -> str:
    return "; ".join(f"{task.id} {task.status} {task.why}" for task in tasks) or "there is no such task"


def mail_by_fate(stores: Stores) -> dict[str, list[str]]:
    """Every message ever sent, under what became of it: delivered, waiting, sent_back; lost, doubled."""
    names = [LEAD, *stores.roster.names()]
    heard = {name: _heard(stores, name) for name in names}
    fates: dict[str, list[str]] = defaultdict(list)
    for sender in (*names, PERSON):
        for sent in sent_by(stores.team, stores.roster, sender):
            to, message = sent.message.to, sent.message.id
            times = heard.get(to, Heard())[sender, message]
            fates[_fate(sent.state, times)].append(f"{message} from {sender} to {to}")
    return fates


def _fate(state: MailState, times: int) -> str:
    if times > 1:
        return "doubled"
    if times:
        return "delivered"
    return {MailState.WRITTEN: "waiting", MailState.SUPERSEDED: "sent_back"}.get(state, "lost")


def _heard(stores: Stores, name: str) -> Heard:
    return Heard(
        (sender_name(delivery.source), delivery.message.id)
        for bearers, closed_at in _bearers(stores, name)
        for delivery in _delivered(stores.team.directory, bearers)
        if closed_at is None or delivery.end <= closed_at.get(delivery.source, 0)
    )


def _bearers(stores: Stores, name: str) -> Iterator[tuple[list[str], Mapping[str, int] | None]]:
    """The processes of each start of a name, newest first, and how far they had read when they closed."""
    if name == LEAD:
        yield [layout.bearer(LEAD, term) for term in range(stores.leadership.present(), 0, -1)], None
        return
    ends = {member.start: member for member in stores.roster.history(name)}
    for last in ends.values():
        yield stores.roster.bearers(last), last.positions if last.state is MemberState.CLOSED else None


def _delivered(directory: StateDirectory, bearers: list[str]) -> Iterator[Delivery]:
    """What their journals say, each up to where the next one says that it counts."""
    account = account_of(directory, bearers)
    bearer, offset = account.journal, account.offset
    while bearer:
        lines = _lines(directory.read_patiently(layout.journal(bearer))[:offset])
        yield from (Delivery.from_json(line) for line in lines if line["kind"] == DELIVERY_KIND)
        first: dict[str, Any] = next((line for line in lines if line["kind"] == CHECKPOINT_KIND), {})
        bearer, offset = first.get("follows"), first.get("offset", 0)


def _lines(data: bytes) -> list[dict[str, Any]]:
    lines: dict[int, dict[str, Any]] = {}
    for raw in data.split(b"\n"):
        line = json_object(raw)
        if line and line.get("n", 0) > max(lines, default=0):
            lines[line["n"]] = line
    return list(lines.values())
