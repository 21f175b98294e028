"""Settings of who may do what: rules, the guard against text from elsewhere, the patience with a person."""

from __future__ import annotations

from dataclasses import dataclass

from harness.settings.entry import ON_OR_OFF, RULES, TEXTS, Reach, number_above, setting


@dataclass(frozen=True, kw_only=True)
class PermissionSettings:
    """A part of `harness.settings.settings.Settings`."""

    allow: tuple[str, ...] = setting(
        "permissions.allow", RULES, "Calls that need no question.", default=(), reach=Reach.PERSON
    )
    ask: tuple[str, ...] = setting("permissions.ask", RULES, "Calls that need a person.", default=())
    deny: tuple[str, ...] = setting("permissions.deny", RULES, "Calls that are refused.", default=())
    guard: bool = setting(
        "guard",
        ON_OR_OFF,
        "Whether what could send data out needs a word each time once text from elsewhere was read.",
        default=True,
        reach=Reach.PERSON,
    )
    trusted_servers: tuple[str, ...] = setting(
        "guard.trusted_servers",
        TEXTS,
        "MCP servers whose answers do not mark a conversation.",
        default=(),
        reach=Reach.PERSON,
    )
    permission_deadline_seconds: float = setting(
        "permissions.deadline_seconds",
        number_above(0),
        "How long a call waits for a person's word; then the answer is no.",
        default=600.0,
        unit="s",
    )
