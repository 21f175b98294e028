"""What may be expected of the terminal."""

from __future__ import annotations

import os

PLAIN = frozenset({"", "dumb", "unknown"})


def is_plain() -> bool:
    """True for a terminal that has neither colors nor a cursor that can be moved, as far as it says."""
    return os.environ.get("TERM", "").lower() in PLAIN


def is_colorless() -> bool:
    """True where no colors are wanted, or none can be shown."""
    return bool(os.environ.get("NO_COLOR")) or is_plain()
