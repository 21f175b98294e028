"""One run of another loop over the same server: `python loop_peers.py NAME ADDRESS KEY`.

Imports nothing of this project, since each peer runs in an environment of its own.
"""

from __future__ import annotations

import sys
from typing import Any

SYSTEM, TASK = "You are a worker.", "Do the task."
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = {"name": "read_file", "description": "Reads a file.", "input_schema": SCHEMA}


def _loop(client: Any, reply_of: Any) -> None:  # noqa: ANN401 - of a library that is not always there
    messages: list[dict[str, Any]] = [{"role": "user", "content": TASK}]
    request = {"model": "scripted", "max_tokens": 1000, "system": SYSTEM, "tools": [TOOL]}
    while True:
        reply = reply_of(client, {**request, "messages": messages})
        messages.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "A = 1"} for call in calls]
        messages.append({"role": "user", "content": results})


def _whole(client: Any, request: dict[str, Any]) -> Any:  # noqa: ANN401 - likewise
    return client.messages.create(**request)


def _streamed(client: Any, request: dict[str, Any]) -> Any:  # noqa: ANN401 - likewise
    with client.messages.stream(**request) as stream:
        return stream.get_final_message()


def sdk(address: str, key: str) -> None:
    """The bare SDK, whole replies."""
    import anthropic  # noqa: PLC0415 - each run pays for its own peer

    _loop(anthropic.Anthropic(api_key=key, base_url=address), _whole)


def sdk_stream(address: str, key: str) -> None:
    """The bare SDK, streamed replies."""
    import anthropic  # noqa: PLC0415 - each run pays for its own peer

    _loop(anthropic.Anthropic(api_key=key, base_url=address), _streamed)


def pydantic_ai(address: str, key: str) -> None:
    """An agent of pydantic-ai with the same tool."""
    import anthropic  # noqa: PLC0415 - likewise
    from pydantic_ai import Agent  # noqa: PLC0415
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415
    from pydantic_ai.usage import UsageLimits  # noqa: PLC0415

    client = anthropic.AsyncAnthropic(api_key=key, base_url=address)
    model = AnthropicModel("scripted", provider=AnthropicProvider(anthropic_client=client))
    agent = Agent(model, system_prompt=SYSTEM)

    @agent.tool_plain
    def read_file(path: str) -> str:  # noqa: ARG001 - what it reads is always the same
        """Reads a file."""
        return "A = 1"

    agent.run_sync(TASK, usage_limits=UsageLimits(request_limit=None))


if __name__ == "__main__":
    {"sdk": sdk, "sdk_stream": sdk_stream, "pydantic_ai": pydantic_ai}[sys.argv[1]](*sys.argv[2:])
