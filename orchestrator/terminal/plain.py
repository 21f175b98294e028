"""What may be expected of the terminal."""

from __future__ import annotations

import os

PLAIN = frozenset({"", "dumb", "unknown"})


def is_plain() -> bool:
    """True for a terminal that has neither colors nor a cursor that can be moved, as far as it says."""
    return os.environ.get("TERM", "").lower() in PLAIN
