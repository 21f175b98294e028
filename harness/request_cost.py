"""What every request of an agent holds before the conversation: prompt, instructions, catalogs, tools."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from harness.mcp.names import prefix_of
from harness.roles.role import CONNECT
from harness.skills.active import LOAD_SKILL
from harness.skills.skill import tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from harness.models.model import ModelRequest

PARTS = {LOAD_SKILL: "skills", CONNECT: "server_list"}  # tools that are there for a part of the prompt


class RequestCost:
    """Estimates in tokens, a quarter of the bytes; an object belongs to one agent."""

    def __init__(
        self, *, servers: Collection[str], instructions: str, sections: Callable[[], Sequence[str]]
    ) -> None:
        """`servers` are names; `instructions` and `sections` (roles, skills, servers) parts of the prompt."""
        self._prefixes = {prefix_of(server): server for server in servers}
        self._instructions = instructions
        self._sections = sections
        self._told: tuple[int, list[str]] | None = None

    def news(self, request: ModelRequest) -> dict[str, Any] | None:
        """What the request holds, as the fields of an event; None where nothing has changed."""
        now = len(request.system), [schema["name"] for schema in request.tools]
        if now == self._told:
            return None
        self._told = now
        texts = (self._instructions, *self._sections())
        parts = dict(
            zip(("instructions", "roles", "skills", "server_list"), map(tokens_of, texts), strict=True)
        )
        parts["prompt"] = tokens_of(request.system) - sum(parts.values())
        parts["tools"] = 0
        servers: Counter[str] = Counter()
        for schema in request.tools:
            tokens, server = tokens_of(json.dumps(schema)), self._server_of(schema["name"])
            if server:
                servers[server] += tokens
            else:
                parts[PARTS.get(schema["name"], "tools")] += tokens
        return {**parts, "servers": dict(servers)}

    def _server_of(self, tool: str) -> str | None:
        """The server whose tool it is; of two whose names begin alike, that with the longer one."""
        fitting = max((prefix for prefix in self._prefixes if tool.startswith(prefix)), key=len, default="")
        return self._prefixes.get(fitting)
