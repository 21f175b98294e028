"""Every file of `tests/cases/mcp`: which servers there are, with which values and which reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.mcp.config import Entry, Server, expand, read_entry, variables_of
from harness.mcp.config_file import Configuration, merge, read_configuration, servers_from_json
from harness.mcp.names import Origin, name_all, name_of

CASES = Path(__file__).resolve().parents[3] / "cases" / "mcp"
FILES: list[dict[str, Any]] = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))["files"]
SERVERS = [(case, name) for case in FILES for name in case.get("servers", {})]


def configuration(case: dict[str, Any]) -> Configuration:
    return read_configuration((CASES / case["file"]).read_bytes(), case["file"])


def entry(case: dict[str, Any], name: str) -> Entry:
    found = {of.name: of for of in configuration(case).entries}
    return expand(found[name], case.get("environment", {}))


def server(case: dict[str, Any], name: str) -> Server:
    found = entry(case, name).server
    assert found
    return found


@pytest.mark.parametrize("case", FILES, ids=lambda case: case["file"])
def test_a_file_has_exactly_these_servers(case: dict[str, Any]) -> None:
    found = configuration(case)
    if case.get("file_status", "").startswith("error"):
        (error,) = found.errors
        assert "line 2, column 1" in error.text
        return
    assert not found.errors
    assert {of.name for of in found.entries} == set(case["servers"])


@pytest.mark.parametrize(("case", "name"), SERVERS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_server_comes_to_what_is_expected(case: dict[str, Any], name: str) -> None:
    expected, found = case["servers"][name], entry(case, name)
    kind = found.server.transport if found.server else ""
    accepted = {expected["status"], *expected.get("also_accept", ())}
    assert {found.status, f"{found.status}:{kind}"} & accepted
    if found.status == expected["status"]:
        codes = {note.code for note in (*found.errors, *found.warnings)}
        assert codes >= set(expected.get("codes", ()))


@pytest.mark.parametrize(("case", "name"), SERVERS, ids=lambda value: value if isinstance(value, str) else "")
def test_the_values_of_a_server_are_those_of_the_file(case: dict[str, Any], name: str) -> None:
    expected = case["servers"][name]
    wanted = {
        key: expected[key]
        for key in ("transport", "command", "url", "headers", "env", "cwd")
        if key in expected and expected["status"] in {"ok", "warn"}
    }
    if wanted:
        found = server(case, name)
        assert {key: getattr(found, key) for key in wanted} == wanted
        assert list(found.args) == expected.get("args", list(found.args))
    if "timeout_ms" in expected:
        assert server(case, name).timeout_seconds == expected["timeout_ms"] / 1000


def case_of(file: str) -> dict[str, Any]:
    return next(case for case in FILES if case["file"] == file)


def test_the_names_of_the_tools_are_those_expected() -> None:
    case = case_of("10-names.json")
    naming = name_all(Origin(of, tool) for of, tools in case["tools_offered"].items() for tool in tools)
    for source, name in case["tool_names"].items():
        assert name_of(Origin(*source.split("/"))) == name
        assert naming.offered[name] == Origin(*source.split("/"))
    told = {(of.reason, of.name, tuple(map(str, of.sources))) for of in naming.unnamed}
    (collision,), (long,) = case["collisions"], case["too_long"]
    assert ("collision", collision["name"], tuple(collision["sources"])) in told
    assert ("too_long", long["name"], (long["name"][5:].replace("__", "/"),)) in told
    assert naming.offered["mcp__a__b__c"] == Origin("a__b", "c")
    for unnamed in naming.unnamed:
        assert all(str(source) in str(unnamed) for source in unnamed.sources)


def test_what_a_file_grants_itself_is_told_and_grants_nothing() -> None:
    found = entry(case_of("11-flags.json"), "trusting")
    assert [note.code for note in found.warnings] == ["grant-ignored"] * 2


def test_three_servers_one_without_command() -> None:  # S32
    data = b'{"mcpServers": {"a": {"command": "a"}, "b": {"args": []}, "c": {"command": "c"}}}'
    entries = read_configuration(data, ".mcp.json").entries
    assert [of.status for of in entries] == ["ok", "error", "ok"]
    assert "b has no command" in entries[1].errors[0].text


def test_a_header_without_its_variable_is_an_error_before_anything_is_sent() -> None:  # S37
    data = b'{"mcpServers": {"api": {"type": "http", "url": "https://x.test", "headers": {"K": "${KEY}"}}}}'
    (raw,) = read_configuration(data, ".mcp.json").entries
    assert raw.server
    assert variables_of(raw.server) == {"KEY"}
    assert expand(raw, {}).status == "error"
    filled = expand(raw, {"KEY": "secret"}).server
    assert filled
    assert filled.headers == {"K": "secret"}


def test_a_server_without_a_name_cannot_be_connected() -> None:
    (raw,) = read_configuration(b'{"mcpServers": {" ": {"command": "a"}}}', ".mcp.json").entries
    assert [note.code for note in raw.errors] == ["name-missing"]


def test_a_url_that_is_no_address_is_an_error_once_its_variables_are_filled_in() -> None:
    data = b'{"mcpServers": {"api": {"type": "http", "url": "${HOST:-nowhere}/mcp"}}}'
    (raw,) = read_configuration(data, ".mcp.json").entries
    assert raw.status == "ok"
    assert [note.code for note in expand(raw, {}).errors] == ["url-no-address"]
    assert expand(raw, {"HOST": "https://x.test"}).status == "ok"


def test_an_earlier_file_wins_and_the_hidden_one_is_told() -> None:
    mine = read_configuration(b'{"mcpServers": {"docs": {"command": "mine"}}}', "your configuration")
    theirs = read_configuration(
        b'{"mcpServers": {"docs": {"command": "theirs"}, "b": {"command": "b"}}}', "p"
    )
    merged = merge([mine, theirs])
    found = merged.servers["docs"].entry.server
    assert found
    assert found.command == "mine"
    assert [note.code for note in merged.warnings] == ["hidden"]
    assert servers_from_json(merged.to_json())["docs"] == found


def test_a_server_whose_tools_could_pass_for_those_of_another_is_refused() -> None:
    mine = read_configuration(b'{"mcpServers": {"a": {"command": "x"}}}', "your configuration")
    theirs = read_configuration(b'{"mcpServers": {"a__b": {"command": "x"}}}', ".mcp.json")
    merged = merge([mine, theirs])
    assert [note.code for note in merged.servers["a__b"].entry.errors] == ["name-ambiguous"]
    assert list(merged.to_json()) == ["a"]


@pytest.mark.parametrize(
    ("raw", "share"),
    [
        ({"command": "a"}, False),
        ({"command": "a", "share": True}, True),
        ({"type": "http", "url": "http://x"}, True),
        ({"type": "sse", "url": "http://x", "share": False}, False),
        ({"command": "a", "share": "yes"}, None),
    ],
)
def test_what_goes_over_http_is_shared_and_what_is_started_only_if_asked_for(
    raw: dict[str, Any], *, share: bool | None
) -> None:
    found = read_entry("one", raw).server
    assert (found.share if found else None) is share
