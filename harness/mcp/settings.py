"""The settings of MCP servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.settings.entry import EMPTY, TEXTS, Kind, Reach, number_above, setting

if TYPE_CHECKING:
    from collections.abc import Mapping


def _values(value: object) -> Mapping[str, tuple[object, ...]]:
    if not isinstance(value, dict):
        raise ValueError  # noqa: TRY004 - every misfit is a ValueError to the caller
    for name, listed in value.items():
        server, _, argument = str(name).partition("/")
        if not server or "." not in argument or not isinstance(listed, list) or not listed:
            raise ValueError
    return {str(name): tuple(listed) for name, listed in value.items()}


def _variables(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError
    return {str(name): text for name, text in value.items()}


VALUES = Kind(
    "a mapping of `server/tool.argument` to a list of values (in a file only)", _values, is_mapping=True
)
VARIABLES = Kind("a mapping of names to texts (in a file only)", _variables, is_mapping=True)


@dataclass(frozen=True, kw_only=True)
class McpSettings:
    """A part of `Settings`."""

    mcp_config: tuple[str, ...] = setting(
        "mcp.config",
        TEXTS,
        "Further files of MCP configuration, stronger than yours and the project's.",
        default=(),
        reach=Reach.PERSON,
    )
    mcp_connect_seconds: float = setting(
        "mcp.connect_seconds",
        number_above(0),
        "How long a server may take to start and to list its tools.",
        default=30.0,
        unit="s",
    )
    mcp_call_seconds: float = setting(
        "mcp.call_seconds",
        number_above(0),
        "Time limit of one call, where the entry of the server has no `timeout`.",
        default=120.0,
        unit="s",
    )
    mcp_values: Mapping[str, tuple[object, ...]] = setting(
        "mcp.values",
        VALUES,
        "What an argument of an MCP tool may be; a call with another value is refused.",
        default=EMPTY,
    )
    mcp_variables: Mapping[str, str] = setting(
        "mcp.variables",
        VARIABLES,
        "Values for `${NAME}` in MCP configuration, where the environment has none.",
        default=EMPTY,
        reach=Reach.SECRET,
    )
