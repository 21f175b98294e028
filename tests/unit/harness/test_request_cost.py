from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.request_cost import RequestCost
from tests.support.model import asks

if TYPE_CHECKING:
    from harness.models.model import ModelRequest

PARTS = (
    "# Instructions" + "i" * 386,
    "# Roles" + "r" * 33,
    "# Skills" + "s" * 72,
    "# MCP servers" + "m" * 27,
)


def tool(name: str, characters: int = 0) -> dict[str, Any]:
    return {"name": name, "description": "d" * characters, "input_schema": {}}


def request(*tools: dict[str, Any]) -> ModelRequest:
    return replace(asks("go", system="role=lead\n\n" + "\n\n".join(PARTS)), tools=list(tools))


def cost(*servers: str) -> RequestCost:
    return RequestCost(servers=servers, instructions=PARTS[0], sections=lambda: PARTS[1:])


def test_each_part_of_a_request_is_told_by_itself() -> None:
    told = cost("docs").news(request(tool("bash", 400), tool("load_skill"), tool("mcp__docs__find", 4000)))
    assert told
    assert told["instructions"] == 100
    assert told["roles"] == 10
    assert 20 < told["skills"] < 60  # the list, and the tool that is there for it
    assert told["server_list"] == 10
    assert told["prompt"] == 5  # the rest
    assert 100 < told["tools"] < 130
    assert 1000 < told["servers"]["docs"] < 1040


def test_servers_are_told_apart_by_the_longest_name() -> None:
    told = cost("docs", "docs__old").news(request(tool("mcp__docs__old__find", 4000), tool("mcp__docs__x")))
    assert told
    assert told["servers"]["docs__old"] > 1000
    assert told["servers"]["docs"] < 40


def test_only_what_is_new_is_told() -> None:
    of = cost("docs")
    assert of.news(request(tool("bash")))
    assert of.news(request(tool("bash"))) is None
    assert of.news(request(tool("bash"), tool("mcp__docs__find")))
