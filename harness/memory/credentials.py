"""Pure: what in a text looks like a credential, and the text without it.

A record outlives the conversation and is shown to every member, so none may hold a key. The patterns are
the fixed forms that issuers give their keys, and words like `password` with a value behind them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

GONE = "[redacted]"
_PATTERNS = {
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*PRIVATE KEY-----|.*)",
    "key of a model's server": r"\bsk-[A-Za-z0-9_-]{16,}",
    "AWS key": r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    "GitLab token": r"\bgl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{16,}",
    "Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "Google key": r"\bAIza[A-Za-z0-9_-]{30,}",
    "Stripe key": r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{10,}",
    "npm or PyPI token": r"\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,})",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{20,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",
    "address with a password": r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",
    "authorization header": r"(?i)(?<=\bbearer )[A-Za-z0-9._~+/-]{16,}=*",
    "named secret": (
        r"(?i)(?P<head>\b[\w.-]*(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|token)\b[\"']?"
        r"\s*(?:[:=]|\bis\b)\s*[\"'`]?)(?!\[redacted\])(?=\S*[A-Za-z])(?:(?=\S*\d)|(?<=[\"'`]))[^\s\"'`,;)]{8,}"
    ),
}
_COMPILED = {name: re.compile(pattern, re.DOTALL) for name, pattern in _PATTERNS.items()}


def credentials_in(text: str) -> list[str]:
    """What kinds of credential the text seems to hold; none is shown."""
    return [name for name, pattern in _COMPILED.items() if pattern.search(text)]


def redacted(text: str, values: Iterable[str] = ()) -> str:
    """The text without what looks like a credential, and without the values given."""
    for value in values:
        text = text.replace(value, GONE)
    for pattern in _COMPILED.values():
        text = pattern.sub(_without, text)
    return text


def _without(match: re.Match[str]) -> str:
    """What was found, but for the name before it."""
    return (match.groupdict().get("head") or "") + GONE
