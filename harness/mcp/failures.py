"""What may come out of the SDK and its transports, and what it says to a person."""

from __future__ import annotations

import anyio

from coordination.errors import TeamError


def failures() -> tuple[type[Exception], ...]:
    """All that a server, its transport or the parsing of what it sends has been seen to raise."""
    import httpx2  # noqa: PLC0415 - slow, for whoever connects
    from mcp import MCPError  # noqa: PLC0415 - likewise

    return (
        *(MCPError, httpx2.HTTPError, TeamError, OSError, TimeoutError),
        *(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream),
        *(
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RuntimeError,
        ),  # of what it makes of strange bytes
    )


def first_leaf(errors: BaseExceptionGroup[Exception]) -> BaseException:
    """The first that is no group itself."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def leaf(errors: BaseExceptionGroup[Exception]) -> str:
    """The first of them as one line."""
    from mcp import MCPError  # noqa: PLC0415 - slow, and loaded where it was raised

    error = first_leaf(errors)
    text = " ".join(str(error).split())[:300]
    is_told = isinstance(error, TeamError | MCPError)
    return text if is_told and text else f"{type(error).__name__}: {text}".removesuffix(": ")
