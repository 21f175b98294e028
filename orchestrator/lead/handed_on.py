"""What a lead hands to the teammates that it starts, through their standard input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.mcp.assemble import named_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.catalogs import Catalogs
    from harness.settings.settings import Settings


def handed_on(
    settings: Settings, catalogs: Catalogs, digests: Mapping[str, str], first_key: str | None
) -> dict[str, object]:
    """The settings of this lead, under which digests what it offers is pinned, and whose word counts.

    So nothing that is changed on disk later, by whomever, changes what a teammate may do.
    """
    variables = named_variables(catalogs.configured.values(), settings)
    return {
        "settings": replace(settings, mcp_variables=variables).to_json(),
        "digests": dict(digests),
        "first_key": first_key,
    }
