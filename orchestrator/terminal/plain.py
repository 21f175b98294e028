"""What may be expected of the terminal."""

from __future__ import annotations

import os

PLAIN = frozenset({"", "dumb", "unknown"})


def is_plain() -> bool:
    """True for a terminal that has neither colors nor a cursor that can be moved, as far as it says."""
    return os.environ.get("TERM", "").lower() in PLAIN


def breaks_lines_anew() -> bool:
    """True for a terminal whose long lines take more rows when it becomes narrower; few cut them off."""
    cuts = os.environ.get("XTERM_VERSION") or os.environ.get("TERM", "").startswith(("linux", "rxvt"))
    return not cuts


def is_colorless() -> bool:
    """True where no colors are wanted, or none can be shown."""
    return bool(os.environ.get("NO_COLOR")) or is_plain()
