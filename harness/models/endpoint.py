"""Where the model is, and how one gets in."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

DEFAULT_ADDRESS = "https://api.anthropic.com"


def is_address(text: str) -> bool:
    """Whether something can be asked for there over HTTP."""
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets without an end, a port that is no number
        return False


@dataclass(frozen=True, kw_only=True, repr=False)
class Endpoint:
    """Where the model is, and how one gets in."""

    address: str = DEFAULT_ADDRESS
    api_key: str | None = None
    auth_token: str | None = None  # used when there is no key
