"""The tools that a server offers: all pages of its list, and word that the list has changed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.input_schema import InputSchema
from harness.mcp.failures import failures

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp import Client

    from harness.mcp.wire import Wire

PAGES = 100  # of one list; a server that goes on for ever is cut off
TOOLS = 1000


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A tool as its server describes it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    fault: str = ""  # why it cannot be offered

    def to_json(self) -> dict[str, Any]:
        return {
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
        }


async def list_tools(client: Client, wire: Wire) -> list[Listed]:
    """Every tool of every page, as they came: the SDK drops a whole page for one tool that is wrong."""
    found: list[Listed] = []
    cursor: str | None = None
    for _ in range(PAGES):
        try:
            await client.list_tools(cursor=cursor, cache_mode="refresh")
        except ValueError:
            if not isinstance(_result(wire, cursor), dict):
                raise
        page = _result(wire, cursor)
        tools = page.get("tools")
        found += [listed(raw) for raw in (tools if isinstance(tools, list) else [])]
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or len(found) > TOOLS:
            break
    return found[:TOOLS]


def _result(wire: Wire, cursor: str | None) -> Any:  # noqa: ANN401 - raw JSON
    response = wire.pages.get(cursor)
    return response.get("result") if isinstance(response, dict) else None


def listed(raw: Any) -> Listed:  # noqa: ANN401 - raw JSON
    """The tool, with what is wrong with it."""
    fields = raw if isinstance(raw, dict) else {}
    name, description = fields.get("name"), fields.get("description")
    schema, output = fields.get("inputSchema"), fields.get("outputSchema")
    fault = "" if isinstance(name, str) else "its name is no text"
    if not isinstance(schema, dict):
        fault = fault or "its input schema is no object"
    elif why := InputSchema(schema).schema_fault():
        fault = fault or f"its input schema is wrong: {why}"
    if isinstance(output, dict) and (why := InputSchema(output).schema_fault()):
        fault = fault or f"its output schema is wrong: {why}"
    return Listed(
        name=name if isinstance(name, str) else "",
        description=description if isinstance(description, str) else "",
        input_schema=schema if isinstance(schema, dict) else {},
        output_schema=output if isinstance(output, dict) else None,
        fault=fault,
    )


async def follow(client: Client, changed: Callable[[], object]) -> None:
    """Calls `changed` whenever a server of the present protocol says that its tools did.

    Older servers say it by a notification of their own accord, and some never do; for them this
    returns at once.
    """
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost  # noqa: PLC0415 - slow

    with suppress(ListenNotSupportedError, SubscriptionLost, *failures()):
        async with client.listen(tools_list_changed=True) as subscription:
            async for _ in subscription:
                changed()
