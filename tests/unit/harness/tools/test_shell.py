from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pytest

from coordination.child import tool_environment
from harness.tool import NoWorkingDirectory, ToolFailure
from harness.tools.shell import BoundedOutput, ShellLimits, bash_tool, run_process
from tests.support.tools import call, context, pool, run, settle

if TYPE_CHECKING:
    from collections.abc import Iterator

BASH = bash_tool(ShellLimits(timeout_seconds=5, max_timeout_seconds=9, kept_bytes=2000))


def wait_for(path: Path) -> str:
    """What another process writes into the file, at most 5 s from now."""
    for _ in range(500):
        if path.exists() and path.read_text().endswith("\n"):
            return path.read_text().strip()
        time.sleep(0.01)  # noqa: TID251 - waits on a condition, with a deadline
    raise AssertionError(path)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_output_and_errors_come_in_the_order_of_writing(tmp_path: Path) -> None:
    assert run(BASH, context(tmp_path), command="echo one; echo two >&2; echo three") == "one\ntwo\nthree"


@pytest.mark.parametrize("command", ["echo a\0b", "echo \ud800"])
def test_a_character_that_no_command_can_hold_is_refused_before_it_runs(tmp_path: Path, command: str) -> None:
    [result] = settle(pool([BASH], tmp_path), call("bash", command=command))
    assert result["content"].startswith("[semantic/not_text] no command holds the character at ")


def test_it_runs_in_the_working_directory(tmp_path: Path) -> None:
    assert run(BASH, context(tmp_path), command="pwd -P") == str(tmp_path.resolve())


def test_a_status_that_is_not_zero_is_a_failure_with_the_output(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="status 3\nbroken") as caught:
        run(BASH, context(tmp_path), command="echo broken; exit 3")
    assert caught.value.reason == "exit_status"


@pytest.fixture
def waiting_input() -> Iterator[None]:
    """The input of this process is a pipe into which nobody ever writes."""
    saved = os.dup(0)
    reading, writing = os.pipe()
    os.dup2(reading, 0)
    yield
    os.dup2(saved, 0)
    for descriptor in (saved, reading, writing):
        os.close(descriptor)


@pytest.mark.usefixtures("waiting_input")
def test_input_is_closed_whatever_this_process_has(tmp_path: Path) -> None:  # S44
    assert run(BASH, context(tmp_path), command="timeout 2 cat; echo $?") == "0"


@pytest.mark.usefixtures("waiting_input")
def test_a_commit_without_a_message_ends_at_once(tmp_path: Path) -> None:  # S44
    who = {"TERM": "xterm", "HOME": str(tmp_path), "GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a"}
    where = context(tmp_path, **tool_environment({**who, "EMAIL": "a@example.org"}))
    commit = "git init --quiet . && timeout 4 git commit --quiet --allow-empty; echo $?"
    assert run(BASH, where, command=commit).splitlines()[-2:] == [
        "Aborting commit due to empty commit message.",
        "1",
    ]


def test_a_command_that_runs_too_long_is_killed_and_its_output_kept(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="after 1 s; output so far:\nbefore") as caught:
        run(BASH, context(tmp_path), command="echo before; sleep 30", timeout=1)
    assert caught.value.reason == "timeout"


def test_a_command_that_ignores_the_signal_is_killed_all_the_same(tmp_path: Path) -> None:
    script = "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done"
    with pytest.raises(ToolFailure):
        run(BASH, context(tmp_path), command=script, timeout=1)
    assert not is_running(int((tmp_path / "pid").read_text()))


def test_a_child_left_behind_dies_with_the_command(tmp_path: Path) -> None:  # T13
    command = "nohup sh -c 'sleep 30; touch late' >/dev/null 2>&1 & echo $! > pid"
    run(BASH, context(tmp_path), command=command)
    assert not is_running(int((tmp_path / "pid").read_text()))


async def hurried(command: str, cwd: Path) -> str:
    with anyio.fail_after(15):
        return await BASH.run({"command": command}, context(cwd))


def test_a_child_that_left_the_group_does_not_hold_the_call(tmp_path: Path) -> None:
    runaway = "setsid sh -c 'echo $$ > pid; sleep 30' & while ! [ -s pid ]; do sleep 0.01; done; echo done"
    assert anyio.run(hurried, runaway, tmp_path) == "done"
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    async def sleeping() -> None:
        await BASH.run({"command": "echo $$ > pid; sleep 30"}, context(tmp_path))

    async def cancelled() -> int:
        async with anyio.create_task_group() as group:
            group.start_soon(sleeping)
            pid = int(await anyio.to_thread.run_sync(wait_for, tmp_path / "pid"))
            group.cancel_scope.cancel()
        return pid

    assert not is_running(anyio.run(cancelled))


def test_only_the_given_environment_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    seen = run(BASH, context(tmp_path, LEADHAND_TASK="task_1"), command="env")
    assert "LEADHAND_TASK=task_1" in seen
    assert "secret" not in seen


def test_bytes_that_are_no_text_are_shown_as_replacements(tmp_path: Path) -> None:  # W39
    assert run(BASH, context(tmp_path), command=r"printf 'a\377b\n'") == "a\ufffdb"


def test_endless_output_is_bounded_and_both_ends_are_kept(tmp_path: Path) -> None:  # W39
    output = run(BASH, context(tmp_path), command="echo begin; seq 1 200000; echo end")
    assert output.startswith("begin\n1\n")
    assert output.endswith("200000\nend")
    assert "bytes left out" in output
    assert len(output) < 2100


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_bounded_output_counts_what_it_drops(chunk: int) -> None:
    kept, data = BoundedOutput(10), bytes(range(48, 48 + 40))
    for at in range(0, 40, chunk):
        kept.add(data[at : at + chunk])
    assert kept.text() == f"{data[:5].decode()}\n… 30 bytes left out …\n{data[-5:].decode()}"


def test_a_directory_that_is_gone_is_said_and_replaced_by_no_other(tmp_path: Path) -> None:
    with pytest.raises(NoWorkingDirectory, match="gone"):
        run(BASH, context(tmp_path / "removed"), command="pwd")


def test_a_time_limit_beyond_the_ceiling_is_refused(tmp_path: Path) -> None:
    [result] = settle(pool([BASH], tmp_path), call("bash", command="true", timeout=10))
    assert result["content"].startswith("[schema/wrong_value] timeout: 10 is greater than the maximum of 9")


def test_a_long_call_shows_signs_of_life(tmp_path: Path) -> None:
    signs: list[int] = []

    async def silent() -> None:
        await run_process(
            "sleep 0.1",
            replace(context(tmp_path), progress=lambda: signs.append(1)),
            timeout_seconds=5,
            kept_bytes=100,
        )

    anyio.run(silent)
    assert signs
