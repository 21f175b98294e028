"""The prompt cache of a scripted server: which part of a request it has seen before, and what that means."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from coordination.usage import Usage
from harness.context.messages import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHARACTERS_PER_TOKEN = 4  # the usual rule of thumb
BLOCKS_BACK = 20  # a server looks so far back from a mark for what it has cached
MARK = "cache_control"


class PromptCache:
    """Remembers each prefix of a request up to a mark, byte for byte. Safe among threads."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()
        self._one_at_a_time = threading.Lock()

    def usage(self, request: dict[str, Any]) -> Usage:
        """What of the request is read from the cache, written to it, and neither, in tokens."""
        prefixes = list(_prefixes(_blocks(request)))
        marks = [place for place, (_, _, marked) in enumerate(prefixes) if marked]
        with self._one_at_a_time:
            read = self._longest_known(prefixes, marks)
            self._known |= {prefixes[place][0] for place in marks}
        total = prefixes[-1][1] // CHARACTERS_PER_TOKEN
        cached = prefixes[marks[-1]][1] // CHARACTERS_PER_TOKEN if marks else 0
        read //= CHARACTERS_PER_TOKEN
        return Usage(input_tokens=total - cached, cache_read_tokens=read, cache_write_tokens=cached - read)

    def _longest_known(self, prefixes: list[tuple[bytes, int, bool]], marks: list[int]) -> int:
        """Characters of the longest prefix that is cached and near enough before a mark."""
        for mark in reversed(marks):
            for place in range(mark, max(-1, mark - BLOCKS_BACK), -1):
                digest, characters, _ = prefixes[place]
                if digest in self._known:
                    return characters
        return 0


def _prefixes(blocks: Iterable[tuple[bytes, bool]]) -> Iterator[tuple[bytes, int, bool]]:
    """For each block: digest and length of everything up to its end, and whether it is marked."""
    digest, length = hashlib.sha256(), 0
    for data, marked in blocks:
        digest.update(data)
        length += len(data)
        yield digest.digest(), length, marked


def _blocks(request: dict[str, Any]) -> Iterator[tuple[bytes, bool]]:
    """Tools, system and messages in the order in which a server caches them."""
    yield _encoded("model", request.get("model"))
    for tool in request.get("tools") or ():
        yield _encoded("tool", tool)
    system = request.get("system") or ()
    for block in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        yield _encoded("system", block)
    for message in request["messages"]:
        for block in blocks_of(message):
            yield _encoded(message["role"], block)


def _encoded(kind: str, block: Any) -> tuple[bytes, bool]:  # noqa: ANN401 - raw JSON
    if not isinstance(block, dict):
        return msgspec.json.encode([kind, block]), False
    bare = {key: value for key, value in block.items() if key != MARK}
    return msgspec.json.encode([kind, bare]), MARK in block
