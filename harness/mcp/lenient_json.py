"""Pure: JSON as people write it into configuration files, with what a strict reader would have said."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_TEXT_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|(//[^\n]*|/\*.*?\*/)', re.DOTALL)
_TEXT_OR_COMMA = re.compile(r'("(?:\\.|[^"\\\n])*")|(,)(?=\s*[}\]])')


class NamedTwice(dict[str, Any]):
    """An object of which some names came twice; the last value of each counts."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.twice = sorted(name for name, count in Counter(names).items() if count > 1)


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """The value and what was overlooked; or why there is none."""

    value: Any = None
    fault: str = ""  # with line and column
    warnings: tuple[str, ...] = field(default=())


def parse(data: bytes) -> Parsed:
    """Accepts a byte order mark, comments and commas at the end; objects are NamedTwice."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Parsed(fault=f"no UTF-8 at byte {error.start}")
    plain = _TEXT_OR_COMMENT.sub(_blank, text)
    clean = _TEXT_OR_COMMA.sub(_blank, plain)
    try:
        value = json.loads(clean, object_pairs_hook=NamedTwice)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        return Parsed(fault=_fault(error))
    warnings = []
    if plain != text:
        warnings.append("comments are no JSON; other programs may refuse the file")
    if clean != plain:
        warnings.append("commas before a closing bracket are no JSON; other programs may refuse the file")
    return Parsed(value=value, warnings=tuple(warnings))


def _blank(match: re.Match[str]) -> str:
    """A text as it is; anything else as so many blanks, so that lines and columns stay."""
    return match[1] or re.sub(r"[^\n]", " ", match[2])


def _fault(error: ValueError | RecursionError) -> str:
    match error:
        case json.JSONDecodeError():
            return f"line {error.lineno}, column {error.colno}: {error.msg}"
        case UnicodeEncodeError():
            return "half a character (\\ud800 to \\udfff) is no text"
        case RecursionError():
            return "it is nested too deeply"
        case _:  # a number of thousands of digits
            return str(error)
