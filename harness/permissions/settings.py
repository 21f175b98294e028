"""Settings of who may do what: rules, the guard against text from elsewhere, the patience with a person."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.setting_entry import ON_OR_OFF, RULES, TEXTS, Reach, entry, number_above


@dataclass(frozen=True, kw_only=True)
class PermissionSettings:
    """A part of `harness.settings.Settings`."""

    allow: tuple[str, ...] = field(
        default=(),
        metadata=entry("permissions.allow", RULES, "Calls that need no question.", reach=Reach.PERSON),
    )
    ask: tuple[str, ...] = field(
        default=(), metadata=entry("permissions.ask", RULES, "Calls that need a person.")
    )
    deny: tuple[str, ...] = field(
        default=(), metadata=entry("permissions.deny", RULES, "Calls that are refused.")
    )
    guard: bool = field(
        default=True,
        metadata=entry(
            "guard",
            ON_OR_OFF,
            "Whether what could send data out needs a word each time once text from elsewhere was read.",
            reach=Reach.PERSON,
        ),
    )
    trusted_servers: tuple[str, ...] = field(
        default=(),
        metadata=entry(
            "guard.trusted_servers",
            TEXTS,
            "MCP servers whose answers do not mark a conversation.",
            reach=Reach.PERSON,
        ),
    )
    permission_deadline_seconds: float = field(
        default=600.0,
        metadata=entry(
            "permissions.deadline_seconds",
            number_above(0),
            "How long a call waits for a person's word; then the answer is no.",
            unit="s",
        ),
    )
