"""What a lead hands to the teammates that it starts, through their standard input."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from harness.hooks.configured import to_raw
from harness.mcp.assemble import named_variables

if TYPE_CHECKING:
    from harness.catalogs import Catalogs
    from harness.settings import Settings


def handed_on(settings: Settings, catalogs: Catalogs) -> dict[str, object]:
    """What a teammate cannot read from the team root itself, and the policy of this lead."""
    values = {
        "model.id": settings.model_id,
        "model.fallback": settings.fallback_model_id,
        "workers.model": settings.worker_model_id,
        "model.api_key": settings.api_key,
        "model.auth_token": settings.auth_token,
        "model.base_url": settings.base_url,
        "lease.ttl_seconds": str(settings.lease_ttl_seconds),
        "permissions.allow": list(settings.allow),
        "permissions.ask": list(settings.ask),
        "permissions.deny": list(settings.deny),
        "worktrees.dir": settings.trees_directory,
        "worktrees.setup": list(settings.setup),
        "worktrees.wrong_checkout": settings.wrong_checkout,
        "sandbox": settings.sandbox,
        "sandbox.network": settings.sandbox_network,
        "sandbox.readable": list(settings.sandbox_readable),
        "prices": list(settings.prices),
        **{
            f"limits.{scope}.max_{name}": value
            for scope in ("task", "member", "team")
            for name, value in asdict(settings.limits(scope)).items()
        },
        "guard": str(settings.guard).lower(),
        "guard.trusted_servers": list(settings.trusted_servers),
        "hooks": to_raw(settings.hooks),
        "mcp.values": {name: list(values) for name, values in settings.mcp_values.items()},
        "mcp.variables": named_variables(catalogs.configured.values(), settings),
    }
    return {name: value for name, value in values.items() if value}
