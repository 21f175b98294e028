"""Take credentials out of what is written to files that others read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from coordination.json_form import with_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORTEST_SECRET = 6  # replacing shorter ones would tear ordinary text
REDACTED = "[redacted]"


class Redactor:
    """Knows the literal values that belong into no file."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self._secrets = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
        self._encoded = [json.dumps(secret, ensure_ascii=False)[1:-1].encode() for secret in self._secrets]

    def finds_in(self, data: bytes) -> bool:
        """True when one of them may stand in this JSON."""
        return any(secret in data for secret in self._encoded)

    def without(self, value: Any) -> Any:  # noqa: ANN401 - raw JSON
        """The value with none of them in its texts; keys stay as they are."""
        return with_texts(value, self._redacted)

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text
