"""What a lead hands to the teammates that it starts, through their standard input."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from harness.hooks.configured import to_raw
from harness.mcp.assemble import named_variables
from harness.setting_entry import Entry, Reach

if TYPE_CHECKING:
    from harness.catalogs import Catalogs
    from harness.settings import Settings


def handed_on(settings: Settings, catalogs: Catalogs) -> dict[str, object]:
    """What a teammate cannot read from the team root itself, and the policy of this lead."""
    values = {
        **_plain(settings),
        "model.api_key": settings.api_key,
        "model.auth_token": settings.auth_token,
        "hooks": to_raw(settings.hooks),
        "mcp.values": {name: list(values) for name, values in settings.mcp_values.items()},
        "mcp.variables": named_variables(catalogs.configured.values(), settings),
    }
    return {name: value for name, value in values.items() if value}


def _plain(settings: Settings) -> dict[str, object]:
    """What is a number, a word or a list of words, as a flag would give it, wherever the lead has it from."""
    plain: dict[str, object] = {}
    for of in fields(settings):
        of_entry, value = of.metadata.get("entry"), getattr(settings, of.name)
        if not isinstance(of_entry, Entry) or of_entry.reach is Reach.SECRET:
            continue
        if isinstance(value, bool):
            plain[of_entry.name] = str(value).lower()
        elif isinstance(value, int | float | str):
            plain[of_entry.name] = str(value)
        elif isinstance(value, tuple) and all(isinstance(part, str) for part in value):
            plain[of_entry.name] = list(value)
    return plain
