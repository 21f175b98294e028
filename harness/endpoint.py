"""Where the model is, and how one gets in."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_ADDRESS = "https://api.anthropic.com"


@dataclass(frozen=True, kw_only=True, repr=False)
class Endpoint:
    """Where the model is, and how one gets in."""

    address: str = DEFAULT_ADDRESS
    api_key: str | None = None
    auth_token: str | None = None  # used when there is no key
