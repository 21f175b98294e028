"""Requests to a server over HTTP, with refusals in words that a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    from collections.abc import Mapping

CONNECT_SECONDS = 30.0  # for connecting and sending
SILENCE_SECONDS = 300.0  # between two pieces of a response; calls have limits of their own
_REFUSED = -32603  # as the SDK would answer in the server's place
_NO_SIGN_IN = (
    "it wants to know who calls, and leadhand signs in nowhere for you: put a token into the environment and "
    'name it in the entry, as "headers": {"Authorization": "Bearer ${NAME}"}'
)
_ADVICE = {
    (401, False): _NO_SIGN_IN,
    (401, True): "it does not take the headers of its entry; has the token in them run out?",
    (403, False): _NO_SIGN_IN,
    (403, True): "whoever the headers of its entry name may not use it",
}


class Client(httpx2.AsyncClient):
    """Heeds the proxies of the environment."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        """`headers` are those of the entry."""
        timeout = httpx2.Timeout(CONNECT_SECONDS, read=SILENCE_SECONDS)
        super().__init__(headers=dict(headers), timeout=timeout)
        self._has_headers = bool(headers)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # noqa: ANN401 - those of httpx2
        """The response, or in the place of a refusal without an error of the protocol one that says why."""
        response = await super().send(request, **options)
        if response.status_code < 400 or response.status_code in {404, 405}:  # the SDK knows these better
            return response
        if b'"jsonrpc"' in await response.aread():
            return response
        advice = _ADVICE.get((response.status_code, self._has_headers), "")
        error = {
            "code": _REFUSED,
            "message": f"it answered {response.status_code}; {advice}".removesuffix("; "),
        }
        return httpx2.Response(
            response.status_code, request=request, json={"jsonrpc": "2.0", "id": None, "error": error}
        )
