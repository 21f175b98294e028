"""What must be true of every run, whatever was asked for: eight things that its trail shows."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from coordination import layout
from coordination.background import JobState
from coordination.events import EventTail
from coordination.team_root import open_team
from harness.hooks.events import known_name
from harness.journal import read

if TYPE_CHECKING:
    from tests.support.team_process import Stage

CHANGING = {"bash", "write_file", "edit_file"}
LATE_SECONDS = 60.0  # on a machine busy with other things


def watch_calls(stage: Stage) -> None:
    """From now on a hook of the person notes every call that passed the permission gate."""
    note = f"cat > $(mktemp {stage.place}/hooked-XXXXXX)"
    group = {"matcher": "*", "hooks": [{"type": "command", "command": note}]}
    config = Path(os.environ["HOME"]) / ".config" / "leadhand" / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(yaml.safe_dump({"hooks": {"PreToolUse": [group]}}), encoding="utf-8")


class Indicators:
    """The trail of one run on a stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._team = open_team(stage.root)
        self._events = EventTail(self._team.directory).read_new()
        names = self._team.directory.names(layout.TRANSCRIPTS)
        self._journals = {
            name.removesuffix(".jsonl"): list(
                read(self._team.directory, layout.journal(name.removesuffix(".jsonl")))
            )
            for name in names
        }

    def check(self) -> set[str]:
        """All eight hold; returns those of which there was something to see."""
        checks = {
            "every call through hooks and permission": self._every_call_is_gated,
            "tools of servers in the next round": self._servers_come_next_round,
            "a placeholder at once, one notification": self._background_is_told_once,
            "the schedule fires in time": self._fires_in_time,
            "plans first, nothing before approval": self._plans_come_first,
            "an idle worker claims exactly one": self._claims_one,
            "files in the directory of the task": self._files_stay_in_trees,
            "the directory kept to the end of the turn, released at idle": self._directory_is_released,
        }
        return {name for name, check in checks.items() if check()}

    def _of(self, *actions: str) -> list[dict[str, Any]]:
        return [event for event in self._events if event["action"] in actions]

    def _blocks(self, kind: str) -> list[dict[str, Any]]:
        return [
            block
            for journal in self._journals.values()
            for line in journal
            for block in line.get("content") or ()
            if isinstance(block, dict) and block.get("type") == kind
        ]

    def _every_call_is_gated(self) -> bool:
        calls = {block["id"] for block in self._blocks("tool_use")}
        settled = self._of("tool_ran", "tool_failed", "tool_refused")
        assert {event["call"] for event in settled} == calls
        ran = (event["tool"] for event in settled if event["action"] != "tool_refused")
        past = Counter(map(known_name, ran))
        files = self._stage.place.glob("hooked-*")
        noted = Counter(json.loads(file.read_text(encoding="utf-8"))["tool_name"] for file in files)
        assert noted == past
        return bool(noted)

    def _servers_come_next_round(self) -> bool:
        """No reply that connects a server calls a tool of it; the call comes in a later one."""
        connected = False
        for journal in self._journals.values():
            for line in journal:
                called = [
                    block["name"] for block in line.get("content") or () if block.get("type") == "tool_use"
                ]
                of_servers = [name for name in called if name.startswith("mcp__")]
                assert not of_servers or (connected and "connect_mcp" not in called)
                connected = connected or "connect_mcp" in called
        return connected

    def _background_is_told_once(self) -> bool:
        jobs = {job.id: job for job in self._stage.stores.jobs.all()}
        told = Counter(
            line["job"]
            for journal in self._journals.values()
            for line in journal
            if line["kind"] == "background"
        )
        ended = {name for name, job in jobs.items() if job.state is not JobState.RUNNING}
        assert told == Counter(ended)
        answers = " ".join(str(block["content"]) for block in self._blocks("tool_result"))
        assert all(name in answers for name in jobs)
        return bool(jobs)

    def _fires_in_time(self) -> bool:
        fired = self._of("schedule_fired")
        for event in fired:
            late = datetime.fromisoformat(event["at"]) - datetime.fromisoformat(event["due"])
            assert 0 <= late.total_seconds() <= LATE_SECONDS
        return bool(fired)

    def _plans_come_first(self) -> bool:
        submitted = {event["request"]: event["who"] for event in self._of("plan_submitted")}
        waiting = set(submitted.values())
        for event in self._events:
            if event["action"] == "plan_decided" and event["verdict"] == "approve":
                waiting.discard(submitted[event["request"]])
            if event["action"] == "tool_ran" and event["tool"] in CHANGING:
                assert event["who"] not in waiting
        return bool(submitted)

    def _claims_one(self) -> bool:
        holds: dict[str, str] = {}
        for event in self._of("claimed", "completed", "released", "reclaimed"):
            if event["action"] != "claimed":
                holds = {who: task for who, task in holds.items() if task != event["task"]}
                continue
            assert event["who"] not in holds
            holds[event["who"]] = event["task"]
        return bool(self._of("claimed"))

    def _files_stay_in_trees(self) -> bool:
        """What agents wrote is in the trees of their tasks, and nothing of it in the person's checkout."""
        assert self._stage.person.git("status", "--porcelain") == ""
        written = [
            block["input"]["path"] for block in self._blocks("tool_use") if block["name"] == "write_file"
        ]
        trees = [self._stage.root / task.worktree for task in self._stage.stores.tasks.all() if task.worktree]
        assert all(any((tree / path).exists() for tree in trees) for path in written)
        return bool(written)

    def _directory_is_released(self) -> bool:
        """While a task is in a conversation its calls find the tree; afterwards nobody names one."""
        refused = [event for event in self._of("tool_refused") if event["gate"] == "lease"]
        assert refused == []
        beats = (self._stage.root / layout.MEMBERS).glob("*.beat")
        held = [beat.name for beat in beats if beat.read_bytes().split()[1] != b"-"]
        assert held == []
        return any(event["tool"] == "claim_task" for event in self._of("tool_ran")) or bool(
            self._of("claimed")
        )
