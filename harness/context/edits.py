"""The steps that make a history shorter without a model; each is a pure function of the history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.context.messages import Block, Message, blocks_of, parts_of, result_ids, size_of, text_of
from harness.preview import preview

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

IMAGE_GONE = "[an image was here; it was left out to make room: look at it again if you need it]"
FITS_A_NOTE = 400  # characters; replacing a shorter result would free nothing
HEAD_MESSAGES = 3  # the request, the first calls and their results


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One block of one message gives way to a shorter one."""

    message: int  # its place in the history
    block: int
    new: Block
    removed: str = ""  # the text that is no longer there whole

    def to_json(self) -> dict[str, Any]:
        return {"message": self.message, "block": self.block, "new": self.new}

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Edit:
        return cls(message=raw["message"], block=raw["block"], new=raw["new"])

    @property
    def call(self) -> str:
        """Id of the call whose result it is; empty for an image that a person sent."""
        return str(self.new.get("tool_use_id", ""))

    def fits(self, messages: Sequence[Message]) -> bool:
        """The block that it is for stands there; where lines were lost another may, or none."""
        blocks = blocks_of(messages[self.message]) if self.message < len(messages) else []
        there = blocks[self.block] if self.block < len(blocks) else {}
        if self.call:
            return there.get("tool_use_id") == self.call
        return there.get("type") == "image"

    def naming(self, where: str) -> Edit:
        """The same edit, its new text ending with where the whole is."""
        new = _with_text(self.new, f"{text_of(self.new)}\n[the whole result is in {where}]")
        return Edit(message=self.message, block=self.block, new=new, removed=self.removed)


def with_edits(messages: Sequence[Message], edits: Iterable[Edit]) -> list[Message]:
    """The history with the edits made; the messages given are left as they are."""
    changed = list(messages)
    for edit in edits:
        blocks = list(blocks_of(changed[edit.message]))
        blocks[edit.block] = edit.new
        changed[edit.message] = {**changed[edit.message], "content": blocks}
    return changed


def first_unseen(messages: Sequence[Message]) -> int:
    """The place of the first message that the model has not answered yet."""
    place = len(messages)
    while place and messages[place - 1]["role"] != "assistant":
        place -= 1
    return place


def bound_new_results(messages: Sequence[Message], *, total: int, preview_characters: int) -> list[Edit]:
    """Results that the model has not seen fit into `total` characters together; the longest go first."""
    new = list(_results(messages, first_unseen(messages)))
    excess = sum(len(text_of(result)) for _, _, result in new) - total
    edits: list[Edit] = []
    for place, at, result in sorted(new, key=lambda found: len(text_of(found[2])), reverse=True):
        text = text_of(result)
        if excess <= 0 or len(text) <= 2 * preview_characters:
            break
        short = preview(text, preview_characters)
        edits.append(_result_edit(place, at, result, f"{short}\n[{len(text)} characters in all]"))
        excess -= len(text) - len(short)
    return edits


def shorten_consumed(messages: Sequence[Message], *, kept: int) -> list[Edit]:
    """Results that the model has answered give way to a note each, but for the last `kept` of them."""
    seen = list(_results(messages[: first_unseen(messages)]))
    older = seen[: max(0, len(seen) - kept)]
    return [
        _result_edit(place, at, result, f"[a result of {len(text_of(result))} characters was left out]")
        for place, at, result in older
        if len(text_of(result)) > FITS_A_NOTE
    ]


def drop_old_images(messages: Sequence[Message], *, kept: int, kept_bytes: int) -> list[Edit]:
    """Images beyond the newest `kept`, or `kept_bytes` of data, give way to a note; what is unseen stays."""
    found = list(_image_places(messages))
    edits: list[Edit] = []
    excess = sum(len(images) for _, _, images in found) - kept
    excess_bytes = sum(_bytes_of(image) for _, _, images in found for image in images) - kept_bytes
    for place, at, images in found:
        if (excess <= 0 and excess_bytes <= 0) or place >= first_unseen(messages):
            break
        edits.append(Edit(message=place, block=at, new=_without_images(blocks_of(messages[place])[at])))
        excess -= len(images)
        excess_bytes -= sum(map(_bytes_of, images))
    return edits


def middle(messages: Sequence[Message], *, kept: int) -> tuple[int, int] | None:
    """Which messages to leave out, from and up to, so that `kept` stay at most; None when none may go.

    The first messages stay, no call is torn from its result, and what follows begins with the model's words.
    """
    head = next((n for n in (HEAD_MESSAGES, 1) if _ends_head(messages, n)), None)
    if head is None or len(messages) <= kept:
        return None
    first = max(head + 1, len(messages) - (kept - head))
    answers = (n for n in range(first, first_unseen(messages)) if messages[n]["role"] == "assistant")
    tail = next(answers, None)
    return (head, tail) if tail is not None and tail > head else None


def freed(messages: Sequence[Message], edits: Iterable[Edit]) -> int:
    """How many characters the edits save."""
    return sum(size_of(blocks_of(messages[edit.message])[edit.block]) - size_of(edit.new) for edit in edits)


def _ends_head(messages: Sequence[Message], length: int) -> bool:
    return len(messages) >= length and messages[length - 1]["role"] == "user"


def _results(messages: Sequence[Message], begin: int = 0) -> Iterator[tuple[int, int, Block]]:
    for place in range(begin, len(messages)):
        for at, block in enumerate(blocks_of(messages[place])):
            if block.get("type") == "tool_result":
                yield place, at, block


def _result_edit(place: int, at: int, result: Block, note: str) -> Edit:
    """The result with a note for its texts, but still under its id and an error if it was one."""
    return Edit(message=place, block=at, new=_with_text(result, note), removed=text_of(result))


def _with_text(result: Block, text: str) -> Block:
    others = [part for part in parts_of(result) if part.get("type") != "text"]
    return {**result, "content": [{"type": "text", "text": text}, *others] if others else text}


def _image_places(messages: Sequence[Message]) -> Iterator[tuple[int, int, list[Block]]]:
    for place, message in enumerate(messages):
        for at, block in enumerate(blocks_of(message)):
            parts = parts_of(block) if block.get("type") == "tool_result" else [block]
            if images := [part for part in parts if part.get("type") == "image"]:
                yield place, at, images


def _bytes_of(image: Block) -> int:
    return len(image.get("source", {}).get("data") or "")


def _without_images(block: Block) -> Block:
    note = {"type": "text", "text": IMAGE_GONE}
    if block.get("type") == "image":
        return note
    return {**block, "content": [note if part.get("type") == "image" else part for part in parts_of(block)]}


def allowed_cuts(messages: Sequence[Message]) -> list[int]:
    """Places at which a summary may end: no call is torn from its result there."""
    return [place for place, message in enumerate(messages) if not result_ids(message)] + [len(messages)]


def newest_part(messages: Sequence[Message], *, characters: int) -> int:
    """Where the part begins that a summary leaves as it is.

    The model's last reply and all after it belong to it, and what before it fits into `characters`.
    """
    must = max(0, first_unseen(messages) - 1)
    room, best = characters, must
    cuts = set(allowed_cuts(messages))
    for place in range(must - 1, -1, -1):
        room -= sum(map(size_of, blocks_of(messages[place])))
        if room < 0:
            break
        best = place if place in cuts else best
    return best
