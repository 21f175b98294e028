"""The policy of a run, what its agents' calls are judged by: pinned by its lead, compared by digest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.hooks.configured import to_raw
from harness.pinned import digest_of, pin

if TYPE_CHECKING:
    from coordination.files import StateDirectory
    from harness.settings.settings import Settings

POLICY = "policy"  # beside the kinds of catalogs, in the digests of runs and members


def policy_of(settings: Settings) -> dict[str, Any]:
    """The policy as a document, the same for all who judge alike."""
    return {
        "allow": sorted(settings.allow),
        "ask": sorted(settings.ask),
        "deny": sorted(settings.deny),
        "guard": settings.guard,
        "trusted_servers": sorted(settings.trusted_servers),
        "values": {name: list(values) for name, values in settings.mcp_values.items()},
        "hooks": to_raw(settings.hooks),
    }


def pin_policy(directory: StateDirectory, settings: Settings) -> dict[str, str]:
    """The policy is on disk, under the digest returned."""
    return {POLICY: pin(directory, policy_of(settings))}


def policy_digest(settings: Settings) -> str:
    """What a process says that it judges by."""
    return digest_of(policy_of(settings))
