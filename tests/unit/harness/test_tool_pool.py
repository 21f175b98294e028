from __future__ import annotations

import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest

from coordination.errors import StateUnwritable
from harness.tool import Effect, NoWorkingDirectory, ToolContext, ToolFailure, objection
from harness.tool_pool import DuplicateTool
from tests.support.tools import Gate, Trail, call, noted_tool, pool, settle

if TYPE_CHECKING:
    from pathlib import Path

    from harness.tool import Refusal, Tool, ToolCall
    from harness.tool_pool import ToolPool


def failing(error: Exception, seen: list[str]) -> Tool:
    async def run(_: dict[str, Any], __: ToolContext) -> str:
        raise error

    return replace(noted_tool(seen), run=run)


def saying(text: str) -> Tool:
    async def run(_: dict[str, Any], __: ToolContext) -> str:
        return text

    return replace(noted_tool([]), run=run)


def test_an_unknown_tool_is_answered_with_near_names(tmp_path: Path) -> None:
    [result] = settle(pool([noted_tool([])], tmp_path), call("nota"))
    assert result["is_error"]
    assert result["content"] == "[schema/unknown_tool] there is no tool 'nota'; did you mean note?"


def test_a_tool_of_a_server_that_is_not_connected_is_answered_with_how_it_comes(tmp_path: Path) -> None:
    tools = [noted_tool([], "connect_mcp"), noted_tool([], "mcp__deps__search")]
    [result] = settle(pool(tools, tmp_path), call("mcp__docs__search"))
    assert "is its server connected? connect_mcp connects it; did you mean" in result["content"]
    [result] = settle(pool(tools[1:], tmp_path), call("mcp__docs__search"))
    assert "connect_mcp" not in result["content"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"text": 1}, "[schema/wrong_type] text: expected string, got 1"),
        ({"times": True}, "[schema/wrong_type] times: expected integer, got True"),
        ({"times": 2.0}, "[schema/wrong_type] times: expected integer, got 2.0"),
        ({"txt": "a"}, "[schema/unknown_field] txt: no such field; did you mean text?"),
    ],
)
def test_a_bad_input_is_answered_with_the_field(tmp_path: Path, arguments: dict[str, Any], says: str) -> None:
    seen: list[str] = []
    [result] = settle(pool([noted_tool(seen)], tmp_path), call("note", **arguments))
    assert (result["content"], result["is_error"], seen) == (says, True, [])


def test_a_missing_field_is_named(tmp_path: Path) -> None:  # T25
    tool = noted_tool([])
    needy = replace(tool, input_schema=tool.input_schema | {"required": ["text"]})
    [result] = settle(pool([needy], tmp_path), call("note"))
    assert result["content"] == "[schema/missing_field] text: missing; required: text"


def test_an_input_that_is_no_object_is_an_error_result(tmp_path: Path) -> None:
    broken = replace(call("note"), input=cast("dict[str, Any]", ["text"]))
    [result] = settle(pool([noted_tool([])], tmp_path), broken)
    assert result["content"].startswith("[schema/wrong_type] the input: expected object")


def test_a_field_deep_inside_is_named_by_its_path(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "string"}}}}
    tool = replace(noted_tool([]), input_schema=schema)
    [result] = settle(pool([tool], tmp_path), call("note", ids=["a", 2]))
    assert result["content"] == "[schema/wrong_type] ids[1]: expected string, got 2"


def test_a_schema_never_reaches_out_for_a_reference(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        tool = replace(noted_tool([]), input_schema={"$ref": address})
        [result] = settle(pool([tool], tmp_path), call("note"))
        with pytest.raises(BlockingIOError):
            server.accept()
    assert result["is_error"]


def test_a_call_passes_schema_semantic_guards_and_plan_and_lease_again(tmp_path: Path) -> None:
    seen: list[str] = []
    tool = replace(noted_tool(seen), semantic=lambda _: seen.append("semantic"))
    gates = [Gate(name, seen) for name in ("plan", "lease", "permission", "hook")]
    settle(pool([tool], tmp_path, gates), call("note"))
    assert seen == [
        "semantic",
        *(f"{gate} note" for gate in ("plan", "lease", "permission", "hook", "plan", "lease")),
        "run note",
    ]


def test_plan_and_lease_are_asked_once_where_nobody_was_waited_for(tmp_path: Path) -> None:
    class AtOnce(Gate):
        async def check(self, call: ToolCall, tool: Tool) -> Refusal | None:
            refusal = await super().check(call, tool)
            self.waits = 0
            return refusal

    seen: list[str] = []
    gates = [AtOnce(name, seen) for name in ("plan", "lease", "permission", "hook")]
    settle(pool([noted_tool(seen)], tmp_path, gates), call("note"))
    assert seen == [*(f"{gate} note" for gate in ("plan", "lease", "permission", "hook")), "run note"]


def test_a_refusal_is_the_result_and_the_handler_is_not_called(tmp_path: Path) -> None:  # T24
    seen: list[str] = []
    over = pool([noted_tool(seen)], tmp_path, [Gate("plan", seen, passes=0), Gate("hook", seen)])
    [result] = settle(over, call("note"))
    assert result["content"] == "[plan/closed] wait for approval"
    assert seen == ["plan note"]


def test_a_gate_that_closes_while_another_waits_still_stops_the_call(tmp_path: Path) -> None:
    seen: list[str] = []
    over = pool([noted_tool(seen)], tmp_path, [Gate("lease", seen, passes=1), Gate("permission", seen)])
    [result] = settle(over, call("note"))
    assert result["content"].startswith("[lease/closed]")
    assert "run note" not in seen


def test_an_open_gate_lets_the_call_through_once(tmp_path: Path) -> None:  # T24
    seen: list[str] = []
    [result] = settle(pool([noted_tool(seen)], tmp_path, [Gate("plan", [])]), call("note", text="x"))
    assert result == {"type": "tool_result", "tool_use_id": "call_1", "content": "noted x"}
    assert seen == ["run note x"]


def test_a_guard_that_crashes_blocks(tmp_path: Path) -> None:
    seen: list[str] = []
    gate = Gate("hook", [], passes=0, error=RuntimeError("nonsense"))
    [result] = settle(pool([noted_tool(seen)], tmp_path, [gate]), call("note"))
    assert result["content"] == "[hook/crashed] RuntimeError: nonsense"
    assert seen == []


def test_a_semantic_objection_is_a_refusal(tmp_path: Path) -> None:
    tool = replace(noted_tool([]), semantic=lambda _: objection("no_change", "nothing to do"))
    [result] = settle(pool([tool], tmp_path), call("note"))
    assert result["content"] == "[semantic/no_change] nothing to do"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ToolFailure("no_match", "read it again"), "[run/no_match] read it again"),
        (NoWorkingDirectory(why="it is gone"), "[run/no_working_directory] no working directory: it is gone"),
        (TypeError("run() takes 2"), "[run/crashed] TypeError: run() takes 2"),
    ],
)
def test_a_failure_in_a_tool_is_an_error_result(tmp_path: Path, error: Exception, says: str) -> None:
    over = pool([failing(error, [])], tmp_path)
    [result] = settle(over, call("note"))
    assert (result["content"], result["is_error"]) == (says, True)


def test_results_keep_the_order_of_the_calls(tmp_path: Path) -> None:
    tools = [noted_tool([], "look", Effect.READ), noted_tool([])]
    calls = [call("look", "a"), call("nothing", "b"), call("note", "c"), call("look", "d")]
    assert [result["tool_use_id"] for result in settle(pool(tools, tmp_path), *calls)] == ["a", "b", "c", "d"]


def meeting(effect: Effect, seen: list[str]) -> Tool:
    """A tool whose calls end only when two of them have begun, or alone after a moment."""
    begun: list[str] = []
    both = anyio.Event()

    async def run(_: dict[str, Any], context: ToolContext) -> str:
        begun.append(context.call_id)
        if len(begun) == 2:
            both.set()
        with anyio.move_on_after(0.2) as alone:
            await both.wait()
        seen.append("alone" if alone.cancelled_caught else "together")
        return ""

    return replace(noted_tool(seen), run=run, effect=effect)


@pytest.mark.parametrize(
    ("effect", "expected"), [(Effect.READ, ["together"] * 2), (Effect.CHANGE, ["alone", "together"])]
)
def test_only_reads_run_side_by_side(tmp_path: Path, effect: Effect, expected: list[str]) -> None:
    seen: list[str] = []
    settle(pool([meeting(effect, seen)], tmp_path), call("note", "a"), call("note", "b"))
    assert seen == expected


@pytest.mark.parametrize(("at_once", "expected"), [(1, ["alone", "together"]), (2, ["together"] * 2)])
def test_a_tool_says_itself_how_many_of_its_calls_run_side_by_side(
    tmp_path: Path, at_once: int, expected: list[str]
) -> None:
    seen: list[str] = []
    tool = replace(meeting(Effect.READ, seen), at_once=at_once)
    settle(pool([tool], tmp_path), call("note", "a"), call("note", "b"))
    assert seen == expected


def test_another_tool_waits_until_calls_that_run_side_by_side_have_ended(tmp_path: Path) -> None:
    seen: list[str] = []
    reader = noted_tool(seen, "look", Effect.READ)
    tool = replace(meeting(Effect.READ, seen), at_once=4)
    settle(pool([reader, tool], tmp_path), call("note"), call("note"), call("look"))
    assert seen == ["together", "together", "run look"]


def test_a_read_after_a_change_sees_the_change(tmp_path: Path) -> None:
    seen: list[str] = []
    tools = [noted_tool(seen, "look", Effect.READ), noted_tool(seen)]
    settle(pool(tools, tmp_path), call("look"), call("note"), call("look"))
    assert seen == ["run look", "run note", "run look"]


def test_a_long_result_becomes_a_preview_and_a_file(tmp_path: Path) -> None:
    text = "begin" + "x" * 5000 + "end"
    [result] = settle(pool([saying(text)], tmp_path / "cwd"), call("note"))
    path = tmp_path / "outputs" / "call_1.txt"
    assert path.read_text() == text
    assert result["content"].startswith("beginx")
    assert str(path) in result["content"]
    assert len(result["content"]) < 500


def test_an_empty_result_says_so_and_half_characters_are_replaced(tmp_path: Path) -> None:
    assert settle(pool([saying("")], tmp_path), call("note"))[0]["content"] == "(no output)"
    assert settle(pool([saying("a\ud800")], tmp_path), call("note"))[0]["content"] == "a?"


def test_every_call_leaves_an_event_refused_ones_too(tmp_path: Path) -> None:
    trail = Trail()
    over = pool([noted_tool([])], tmp_path, [Gate("plan", [], passes=1)], trail=trail)
    settle(over, call("note", "a"), call("note", "b"))
    assert trail.events == [
        {"action": "tool_ran", "tool": "note", "call": "a"},
        {"action": "tool_refused", "tool": "note", "call": "b", "gate": "plan", "reason": "closed"},
    ]


def test_a_full_disk_does_not_take_the_result_away(tmp_path: Path) -> None:
    class FullDisk(Trail):
        def __call__(self, _: str, /, **__: object) -> None:
            raise StateUnwritable(path="events", cause="no space")

    assert settle(pool([saying("done")], tmp_path, trail=FullDisk()), call("note"))[0]["content"] == "done"


def test_only_success_of_an_ending_tool_ends_the_turn(tmp_path: Path) -> None:
    over = pool([replace(noted_tool([]), ends_turn=True), noted_tool([], "other")], tmp_path)
    good, bad = {"content": "ok"}, {"content": "no", "is_error": True}
    assert over.ends_turn([call("other"), call("note")], [good, good])
    assert not over.ends_turn([call("note"), call("unknown")], [bad, bad])
    assert not over.ends_turn([call("other")], [good])


def test_two_tools_of_one_name_make_no_pool(tmp_path: Path) -> None:
    with pytest.raises(DuplicateTool):
        pool([noted_tool([]), noted_tool([])], tmp_path)


def test_the_model_is_told_every_tool_in_order(tmp_path: Path) -> None:
    over = pool([noted_tool([], "b"), noted_tool([], "a")], tmp_path)
    assert [schema["name"] for schema in over.schemas] == over.names == ["b", "a"]
    assert set(over.schemas[0]) == {"name", "description", "input_schema"}


# interrupts


def interrupting(over: list[ToolPool]) -> Tool:
    """A tool that is interrupted while it waits for ever."""

    async def run(_: dict[str, Any], __: ToolContext) -> str:
        over[0].interrupt()
        assert over[0].is_interrupted
        await anyio.sleep_forever()
        return "never"

    return replace(noted_tool([], "wait"), run=run)


def test_an_interrupt_cancels_the_running_call_and_begins_no_further_one(tmp_path: Path) -> None:
    over: list[ToolPool] = []
    seen: list[str] = []
    trail = Trail()
    over.append(pool([noted_tool(seen), interrupting(over)], tmp_path, trail=trail))
    calls = [call("note", "c1"), call("wait", "c2"), call("note", "c3")]
    first, second, third = settle(over[0], *calls)
    assert (seen, first["content"]) == (["run note"], "noted ")
    for result, name in ((second, "c2"), (third, "c3")):
        assert result["tool_use_id"] == name
        assert result["is_error"]
        assert result["content"].startswith("[run/interrupted] ")
    assert [event.get("reason") for event in trail.events] == [None, "interrupted", "interrupted"]


def test_an_interrupt_without_a_running_call_changes_nothing(tmp_path: Path) -> None:
    idle = pool([noted_tool([])], tmp_path)
    idle.interrupt()
    assert not idle.is_interrupted
    [result] = settle(idle, call("note"))
    assert "is_error" not in result


def test_after_an_interrupt_calls_run_again(tmp_path: Path) -> None:
    over: list[ToolPool] = []
    over.append(pool([noted_tool([]), interrupting(over)], tmp_path))
    settle(over[0], call("wait"))
    [result] = settle(over[0], call("note"))
    assert "is_error" not in result
