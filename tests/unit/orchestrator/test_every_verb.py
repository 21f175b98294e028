"""Every verb of the command line in front of bad state: at most one line, a known code, nothing half done."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.numbered_log import digest, pretty
from coordination.protocols import Kind
from coordination.stores import Stores, open_stores
from coordination.tasks.drafts import TaskDraft
from orchestrator.cli.main import VERBS, main
from orchestrator.lead.opening import make_team
from tests.support.people import claimant, comes_alive, dead, leads, stores_of
from tests.support.repository import Repository
from tests.support.trust import trusts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from coordination.records import Task

USAGE = 2
CODES = {0, 1, USAGE, 3, 4}
LINES = """
status | status --json | status --all
tasks | tasks show TASK | tasks add more | tasks cancel TASK | tasks redo TASK
mail | mail alice | mail lead --sent | plan TASK | logs alice | usage
background | background tail bg_00000001 | background kill bg_00000001
approvals | approve req_00000001 | deny req_00000001
send lead hello | send alice hello --interrupt | compact alice | pause | continue
stop | stop alice
merge | merge TASK | worktrees | worktrees remove x | clean
policy check | policy explain bash ls | mcp | mcp check | skills | skills check | roles | roles show x
memory | memory show x | cron | cron next hourly | cron cancel cron_00000001 | trust | init
doctor | fsck | fsck --json | fsck --repair
"""
BEGIN = [["run", "more", "--yes", "--no-input"], ["resume", "--yes"]]
ELSEWHERE = {"chaos", "demo", "worker"}  # make teams of their own; a process with tests of its own


def verbs() -> list[list[str]]:
    return [command.split() for line in LINES.strip().splitlines() for command in line.split("|")]


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Stores, Task]:
    """A team whose lead and member died at work, and the task that was open then."""
    root = Repository.create(tmp_path / "project", {"a.py": "a = 1\n"}).path
    monkeypatch.chdir(root)
    monkeypatch.setenv("MODEL_ID", "scripted")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key-needed")
    trusts(root)
    team, _ = make_team(root, None)
    lead = leads(team, dead())
    run = lead.runs.open("Fix it", base="0" * 40)
    task, held = lead.tasks.create([TaskDraft(subject=subject, run=run.id) for subject in "AB"])
    lead.tasks.publish([task.id, held.id])
    member = comes_alive(team, "alice", dead())
    alice = stores_of(team, member)
    alice.tasks.claim(held.id, claimant(member))
    alice.requests.ask(Kind.PLAN, "B", reviewer="person", task=held.id)
    lead.outbox.send("alice", "hello")
    alice.tasks.refresh_views()
    return open_stores(team, "person"), task


def a_record(root: Path, log: str, number: int = 1) -> Path:
    return next(root.glob(layout.record(log, number)))


def of_a_newer_format(path: Path) -> None:
    document = json.loads(path.read_bytes()) | {"format": 7, "version": "9.1"}
    path.write_bytes(pretty(document | {"digest": digest(document)}))


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("outside")))


def foreign_names(root: Path, _: str) -> None:
    for directory in (*layout.TOP_LEVEL, *layout.SECOND_LEVEL, layout.inbox("lead")):
        if (root / directory).is_dir():
            for name in (b"\xff\xfe", b"\x1b]0;mine\x07\nerror.log"):
                (root / directory / os.fsdecode(name)).write_bytes(b"\0\xff{\x1b[2J")


def garbage(root: Path, task: str) -> None:
    for path in (layout.sent("lead", "alice~2"), layout.events("alice~2"), layout.journal("alice~2")):
        (root / path).write_bytes(b'\0\0\0\n{"half": \n\xff\n' + b"[" * 100_000)
    (root / layout.task_view(task)).write_bytes(b"\0" * 300)


STATES: dict[str, Callable[[Path, str], object]] = {
    "newer task": lambda root, task: of_a_newer_format(a_record(root, layout.task_log(task))),
    "newer graph": lambda root, _: of_a_newer_format(a_record(root, layout.GRAPH_LOG)),
    "newer lead": lambda root, _: of_a_newer_format(a_record(root, layout.LEAD_LOG)),
    "newer member": lambda root, _: of_a_newer_format(a_record(root, layout.member_log("alice"), 2)),
    "newer run": lambda root, _: of_a_newer_format(a_record(root, layout.run_log("*"))),
    "newer question": lambda root, _: of_a_newer_format(a_record(root, layout.request_log("*"))),
    "newer profile": lambda root, _: of_a_newer_format(a_record(root, layout.PROFILE_LOG)),
    "newer keys": lambda root, _: of_a_newer_format(a_record(root, layout.KEYS_LOG)),
    "a pipe as record": lambda root, task: a_pipe(a_record(root, layout.task_log(task), 2)),
    "a pipe as graph": lambda root, _: a_pipe(a_record(root, layout.GRAPH_LOG)),
    "a pipe as team file": lambda root, _: a_pipe(root / layout.TEAM_FILE),
    "foreign names": foreign_names,
    "garbage": garbage,
    "a link as box": lambda root, _: a_link(root / layout.inbox("lead")),
    "a link as directory of a record": lambda root, task: a_link(root / layout.task_log(task)),
    "no tasks": lambda root, _: (root / layout.TASKS).rename(root / "moved"),
    "no members": lambda root, _: (root / layout.MEMBERS).rename(root / "moved"),
    "a file for a directory": lambda root, _: (
        (root / layout.REQUESTS).rename(root / "moved"),
        (root / layout.REQUESTS).touch(),
    ),
}
REFUSES_A_LEAD = {state for state in STATES if state.startswith("newer")} - {"newer task"} | {"a link as box"}


def snapshot(root: Path) -> dict[Path, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path: path.read_bytes() for path in files if not path.is_relative_to(root / layout.EVENTS)}


@pytest.mark.parametrize("state", STATES)
def test_one_line_a_known_code_and_nothing_half_done(
    board: tuple[Stores, Task], capsys: pytest.CaptureFixture[str], state: str
) -> None:
    stores, task = board
    root = stores.team.root
    STATES[state](root, task.id)
    for verb in [*verbs(), *(BEGIN if state in REFUSES_A_LEAD else [])]:
        before = snapshot(root)
        with pytest.raises(SystemExit) as end:
            main([task.id if word == "TASK" else word for word in verb])
        out, err = capsys.readouterr()
        told = f"{verb} in front of {state}: {end.value.code}, {out[-300:]!a}, {err!a}"
        assert "inside leadhand" not in err, told
        assert "Traceback" not in err + out, told
        assert len(err.splitlines()) <= 1, told
        assert "\x1b" not in err + out, told
        assert end.value.code in CODES, told
        assert end.value.code != USAGE or snapshot(root) == before or "written to alice" in err, told
        assert end.value.code == USAGE or verb not in BEGIN, told


def test_no_verb_is_left_out() -> None:
    assert {verb[0] for verb in [*verbs(), *BEGIN]} | ELSEWHERE == {verb for _, verb, _, _ in VERBS}
