"""Pure: which calls could carry something out of a conversation that holds text from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.permissions.rules import MCP, SHELL
from harness.permissions.shell.effects import acts, lines_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

MAIL = "send_message"


def could_send(
    tool: str, arguments: Mapping[str, Any], *, marked: Collection[str], checks: Sequence[str]
) -> bool:
    """True for servers, commands that are not known to stay here, and mail to whoever is still clean.

    `marked` are the members whose own conversations hold such text; `checks` are commands of people.
    """
    if tool == SHELL:
        known = lines_of(checks)
        found = acts(str(arguments.get("command", "")))
        return any(act.why and not act.is_local and act.line not in known for act in found)
    return tool.startswith(MCP) or (tool == MAIL and arguments.get("to") not in marked)
