"""What all processes of a run hold the same bytes of, in a file that is named by their digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coordination import layout
from coordination.errors import TeamError

if TYPE_CHECKING:
    from coordination.files import StateDirectory


@dataclass(eq=False)
class PinLost(TeamError):
    """A pinned file is gone, or is not what its name says."""

    path: str
    says = "{path} is missing or was changed; stop the team, and `leadhand resume` pins what is there now"


def pin(directory: StateDirectory, document: dict[str, Any]) -> str:
    """The document is on disk under the digest returned, the SHA-256 of its canonical JSON."""
    digest = digest_of(document)
    path = layout.pinned(digest)
    if not directory.exists(path):
        directory.make(layout.PINNED)
        directory.replace(
            path, _canonical(document), durable=True
        )  # whoever comes last, the bytes are the same
    return digest


def pinned(directory: StateDirectory, digest: str) -> dict[str, Any]:
    """The document of this digest. Raises PinLost."""
    path = layout.pinned(digest)
    try:
        data = directory.read(path)
    except FileNotFoundError as error:
        raise PinLost(path=path) from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise PinLost(path=path)
    document: dict[str, Any] = json.loads(data)
    return document


def digest_of(document: dict[str, Any]) -> str:
    """The digest that the document would be pinned under."""
    return hashlib.sha256(_canonical(document)).hexdigest()


def _canonical(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
