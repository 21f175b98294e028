"""Limits on the code that may only go down, and names that may not come in."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
# The style page guessed 2,400 / 4,200 / 1,000 / 700 / 3,600 before there was code. The rules of validity,
# succession and closing, each written out where writer and reader share it, took more than guessed.
# `fsck` states each invariant once more from outside, with its reason and its repair: 900 lines.
# A keeper that ends the tools of a lost task, a holder that doubts, a restart that goes on (agent_worker) and
# the fence of a run's branch (workspace) came with the proof of leases and leadership.
# Background commands and schedules are numbered logs of their own, with tools and verbs around them.
# The orchestrator has the person's side of all of that: `fsck` of trees and processes, stopping for good,
# the accidents of `chaos`, and an orderly end however often a signal comes.
# Skills are read as people write them, checked, budgeted and pinned (harness/skills, `leadhand skills`).
# MCP servers: configuration as other hosts write it, one task per connection, outcomes from the raw response,
# names, sight of changed tools (harness/mcp, `leadhand mcp`).
# Who may do what: rules per role that are checked and explained (harness/permissions, `leadhand policy`).
# The harness keeps conversations within the window (`harness/context`): steps, summary, gauge, journal lines.
# A merge is proven file by file and hunk by hunk, and several are checked beside each other (workspace,
# orchestrator/merging/integration and what stands beside it), or merged by hand (its by_hand).
# Trees in which a project runs, the look for checks of another checkout, and what may go of all that,
# are half of workspace.
# Who may do what (harness/permissions): rules that are checked and explained, questions to the person who
# answers at a terminal or by command (orchestrator/terminal/approvals, at_terminal), and `doctor`.
# What a project tells its agents, in every prompt (harness/instructions).
# A member that died comes back (orchestrator/restarts and its supervisor, a promise on the roster).
# Roles as files describe them, read with what their authors got wrong (harness/roles, `leadhand roles`).
# File events are read by whoever waits for them (coordination/file_events).
# What the team remembers (harness/memory, `leadhand memory`): records, relevance, what is noted and merged.
# An order to compact, beside that to interrupt (coordination/orders, `leadhand compact`).
# Sub-agents (harness/subagents): the same loop once more, with what it shares with its caller named.
# Commands run inside bubblewrap, and their commits come out checked: workspace/sandbox.
# A task that nobody can begin fails in the end (workspace/tree_of_task), and the own task comes first.
# One connection to an MCP server for all agents of a host (harness/mcp/sharing, orchestrator/sharing).
# What a repository brings along is found, told, compared and trusted before it counts (harness/trust,
# orchestrator/trusting, coordination/own_files).
# Credentials are hidden in /proc and redacted in what is written (coordination/concealment, redaction).
# A plan, or an answer, that a lead forgets is asked for once more (orchestrator/lead/owed).
# A hook may change the input of a call, which is judged anew (harness/hooks, tool_pool).
# Decisions, orders and what instructs a lead are signed (coordination/keys, harness/context/seals).
# Findings of the memory say why and what to do (orchestrator/inspection).
# Output that nobody can take, and a question that another terminal is told of (console, confirmation).
# Only trees of the team are committed, and whose tree a successor finds is asked (workspace/tree_of_task).
# YAML and files that others wrote have one way in (harness/yaml_text, harness/regular_files).
# How much a model takes is asked of its server, and limits follow it (harness/models/anthropic_call, gauge).
# What a conversation waits for is read off it, so that it outlives its process (agent_worker/waiting).
# A model is told the time, and limits in minutes count on after a restart (harness/context, budget, ledger).
# What a person mistyped, and how many there are of something, in words that fit.
# A start that leaves the SDK alone while it is loaded (harness/models/anthropic_model).
# A second machine joins over a shared mount: kinds of file systems, the profile and its log, a handshake of
# two hosts (coordination/mounts, profile, handshake, joining), and who has joined (orchestrator/inspection).
# What the system refuses is told in words by every verb, and what verbs find where nothing is to be found.
# What a person changes of a proposed team before it starts (orchestrator/lead/terms).
# Whom a teammate waits for that it asked, who would wait in a circle, and who waits for nothing more
# (agent_worker/asking).
# A line that is typed at a terminal which only shows characters (orchestrator/terminal/typed_line).
# What a shell evaluates and what a command starts, so that no disguise runs
# (harness/permissions/shell/values, inside). What a server over HTTP refuses is told in words.
# File tools follow no link between look and act (harness/tools/paths).
PACKAGES = {
    "coordination": 9800,
    "harness": 18650,
    "workspace": 5100,
    "agent_worker": 2220,
    "orchestrator": 11300,
}
DEMO_PROJECT = PROJECT / "orchestrator" / "demo" / "project"  # what the demo's team works on
MODULE_LINES = 300
FUNCTION_LINES = 40
BROAD_EXCEPTS = 4  # tool run, hook run, lead main, worker main
BANNED_NAMES = {"utils", "misc", "common", "base", "core", "types", "manager", "helpers"}
STARTS_PROCESSES = {
    "workspace/sandbox/program.py",  # tries whether bubblewrap works
    "workspace/git.py",
    "harness/tools/background_process.py",
    "workspace/commands.py",  # checks and set-up
    "harness/tools/shell.py",
    "harness/mcp/stdio.py",
    "orchestrator/launchers/local.py",
    "orchestrator/chaos/small_disk.py",  # mounts the disk that it fills
}
STATE_PATH = re.compile(r"[\"']\.(tasks|team|worktrees|memory)\b|[\"']mailboxes[/\"']")
MAY_NAME_STATE_PATHS = {"coordination/layout.py", "harness/permissions/protected.py"}


def sources() -> list[Path]:
    found = (path for package in PACKAGES for path in (PROJECT / package).rglob("*.py"))
    return sorted(path for path in found if DEMO_PROJECT not in path.parents)


def name(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_a_module_fits_on_four_screens() -> None:
    measurements = (PROJECT / "bench").glob("*.py")
    assert not {name(path): lines(path) for path in (*sources(), *measurements) if lines(path) > MODULE_LINES}


def test_a_function_fits_on_half_a_screen() -> None:
    long = {
        f"{name(path)}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for path in sources()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    }
    assert not long


@pytest.mark.parametrize(("package", "ceiling"), PACKAGES.items())
def test_a_package_stays_under_its_ceiling(package: str, ceiling: int) -> None:
    assert sum(lines(path) for path in sources() if name(path).startswith(f"{package}/")) <= ceiling


def test_broad_excepts_stand_at_the_four_borders_only() -> None:
    broad = [
        f"{name(path)}:{node.lineno}"
        for path in sources()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or (isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"})
        )
    ]
    assert len(broad) <= BROAD_EXCEPTS, broad


def test_nothing_is_silenced_for_the_type_checker() -> None:
    assert not [name(path) for path in sources() if "type: ignore" in path.read_text(encoding="utf-8")]


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not [name(path) for path in sources() if path.stem in BANNED_NAMES]


def test_no_code_in_package_files() -> None:
    packages = [path for path in sources() if path.name == "__init__.py"]
    assert not [name(path) for path in packages if len(tree(path).body) > 1]


def test_processes_start_only_where_the_design_says() -> None:  # W30
    starters = {
        name(path)
        for path in sources()
        if re.search(r"subprocess|open_process|os\.fork|os\.exec", path.read_text())
    }
    assert starters <= STARTS_PROCESSES


def test_yaml_is_read_in_one_place() -> None:
    loads = re.compile(r"yaml\.(?!yaml)\w*(load|compose|parse|scan|Loader)\w*|from yaml\b")
    readers = {name(path) for path in sources() if loads.search(path.read_text(encoding="utf-8"))}
    assert readers == {"harness/yaml_text.py"}


def test_only_the_layout_builds_state_paths() -> None:
    builders = {name(path) for path in sources() if STATE_PATH.search(path.read_text(encoding="utf-8"))}
    assert builders <= MAY_NAME_STATE_PATHS


def test_no_comment_is_a_banner_over_a_section() -> None:
    banner = re.compile(r"\n\n *#[^\n]*\n\n")
    assert not [name(path) for path in sources() if banner.search(path.read_text(encoding="utf-8"))]


def test_every_module_says_its_job_in_one_sentence() -> None:
    assert not [name(path) for path in sources() if not ast.get_docstring(tree(path))]
