"""Which skills stand in a conversation at this moment, and how much room they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.skills.skill import tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

LOAD_SKILL = "load_skill"
BODY_BEGINS = "<skill "
ENDS = ("</skill>", "</resource>")  # of a result that nobody shortened

Message = dict[str, Any]  # raw JSON of the Messages API


class ActiveSkills:
    """Reads it off the conversation itself, so that what was shortened or begun anew is active no more."""

    def __init__(self, messages: Callable[[], Sequence[Message]]) -> None:
        self._messages = messages
        self._given: dict[str, str] = {}  # by call, while its result is not yet in the conversation

    def give(self, call_id: str, text: str) -> None:
        """The call will have this as its result."""
        self._given[call_id] = text

    def tokens(self) -> dict[str, int]:
        """By name what an active skill takes, its resources included."""
        messages = self._messages()
        results = {block["tool_use_id"]: block for block in _blocks(messages, "tool_result")}
        calls = {
            block["id"]: block["input"].get("name", "")
            for block in _blocks(messages, "tool_use")
            if block["name"] == LOAD_SKILL
        }
        self._given = {call: text for call, text in self._given.items() if call in calls.keys() - results}
        texts = {call: _whole(results[call]) for call in calls if call in results} | self._given
        active = {calls[call] for call, text in texts.items() if text.startswith(BODY_BEGINS)}
        return {
            name: sum(tokens_of(text) for call, text in texts.items() if calls[call] == name)
            for name in active
        }


def _whole(result: Mapping[str, Any]) -> str:
    """What the call gave; empty if it was refused, or is no longer what it was."""
    content = result.get("content")
    if result.get("is_error") or not isinstance(content, str) or not content.endswith(ENDS):
        return ""
    return content


def _blocks(messages: Sequence[Message], kind: str) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        if isinstance(message["content"], list):
            yield from (block for block in message["content"] if block.get("type") == kind)
