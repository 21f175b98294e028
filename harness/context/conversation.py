"""The messages of a conversation: how they grow line by line of the journal, and what they weigh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.context.edits import Edit, with_edits
from harness.context.messages import (
    Block,
    Message,
    call_ids,
    holds_image,
    is_blank,
    open_calls,
    repaired,
    size_of,
    unknown_outcomes,
)
from harness.context.summary import compacted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

REQUEST_KIND = "user"  # of the lines that have instruction rank
TODO_TOOL = "todo_write"
MAIL_KIND = "mail"  # of the lines that are deliveries
TIME_KIND, TIME_TEXT = "time", "<time>{}</time>"  # of what tells when the rest arrived
WORDS_OF_HOST = frozenset({"continuation", "hook", "memory", "reminder", TIME_KIND})  # they begin no turn
LISTS = ("messages", "requests", "unanswered", "todos", "kinds", "recalled", "marked")  # another goes on with
GOES_ON = "goes on"  # why a line begins a conversation that another process left behind
MARK_KIND = "mark"  # of those that say what a running call brings from elsewhere


class Conversation:
    """What the model is sent, fit to be sent but for calls that still run."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.requests: list[str] = []  # with instruction rank, in order
        self.about = ""  # the task or run that it is held for
        self.todos: list[dict[str, Any]] = []  # as the model last wrote them
        self.rounds_without_todos = 0  # since it did, or since the conversation began
        self.summary_asked: list[str] = []  # what it must keep above all, of each who asked for one
        self.unanswered: list[str] = []  # mail that the model has not answered yet
        self.characters = 0  # of the messages; an image counts as what it costs
        self.summed_up = 0  # the same, as the last summary left them
        self.has_images = False
        self.untrusted = ""  # what came into it that neither the team nor the person wrote; it stays
        self.brought = ""  # the same of the running calls, which the model has not seen yet
        self.kinds: list[str] = []  # of all that had a word in the turn of the last messages
        self.recalled: list[str] = []  # ids of records of the memory that it holds
        self.marked: list[str] = []  # who sent mail from a conversation that holds such a thing

    @classmethod
    def of(cls, lines: Iterable[dict[str, Any]]) -> Self:
        """The last conversation in the lines, fit to be sent with every call answered, whatever was lost."""
        conversation = cls()
        for line in lines:
            conversation.take(line)
        unanswered = open_calls(conversation.messages)
        if unanswered:
            conversation.take({"kind": "tool_results", "content": unknown_outcomes(unanswered)})
        conversation.messages = repaired(conversation.messages)
        conversation._weigh_all()
        return conversation

    def take(self, line: dict[str, Any]) -> None:
        """Go on by what the line says: user-side lines gather in one message, results first."""
        self._mark(line)
        match line["kind"]:
            case "conversation" | "context" | "withdrawn" | "todos" | "compact":
                self._change(line)
            case "assistant":
                self._say([block for block in line["content"] if not is_blank(block)])
            case "tool_results":
                self._count_round()
                self._user_message()["content"][:0] = line["content"]
                self._weigh(line["content"])
            case kind:
                text = line.get("text")
                if text and kind not in WORDS_OF_HOST:
                    self._note(kind)
                self.recalled += line.get("records", ())
                self._hear(text, is_request=REQUEST_KIND in {kind, line.get("rank")})
                if kind == MAIL_KIND and text:
                    self.unanswered.append(text)

    @property
    def tainted_by(self) -> str:
        """What from elsewhere may be in its effects: also what the model has not seen yet."""
        return self.untrusted or self.brought

    def _change(self, line: dict[str, Any]) -> None:
        match line["kind"]:
            case "conversation":
                self._begin(line)
            case "context":
                self._shrink(line)
            case "withdrawn":
                self._withdraw(line["texts"])
            case "todos":
                self.todos = list(line["todos"])
            case "compact":
                self.summary_asked.append(line["focus"])

    def _note(self, kind: str) -> None:
        last = self.messages[-1] if self.messages else {"role": "user"}
        if last["role"] == "assistant" and not call_ids(last):  # the turn before is over
            self.kinds = []
        if kind not in self.kinds:
            self.kinds.append(kind)

    def _say(self, content: list[Block]) -> None:
        self.unanswered = []
        if content:
            self.messages.append({"role": "assistant", "content": content})
            self._weigh(content)

    def _mark(self, line: dict[str, Any]) -> None:
        """A mark stays to the end of the conversation, whatever is shortened or summed up.

        What a call brings counts from its result on, even if that is only that nobody saw its end.
        """
        if line["kind"] == MARK_KIND:
            self.brought = self.brought or str(line.get("untrusted", ""))
            return
        if line["kind"] == "tool_results":
            self.untrusted, self.brought = self.untrusted or self.brought, ""
        message = line.get("message", {})
        why = message.get("metadata", {}).get("untrusted")
        sender = str(message.get("from", "")).partition("~")[0]
        if why and sender not in self.marked:
            self.marked.append(sender)
        self.untrusted = self.untrusted or str(line.get("untrusted") or why or "")

    def _begin(self, line: dict[str, Any]) -> None:
        """A conversation begins: empty, or with what one of before had come to."""
        self.about = line.get("about", "")
        self.rounds_without_todos = line.get("rounds_without_todos", 0)
        for name in LISTS:
            setattr(self, name, list(line.get(name, ())))
        asked = self.summary_asked if line.get("why") == GOES_ON else ()  # before it was taken up
        self.summary_asked = [*line.get("summary_asked", ()), *asked]
        self.untrusted, self.brought = str(line.get("untrusted", "")), ""
        self._weigh_all()

    def to_json(self) -> dict[str, Any]:
        """The fields of the line with which another process goes on with it."""
        names = ("about", *LISTS, "summary_asked", "rounds_without_todos", "untrusted")
        return {name: value for name in names if (value := getattr(self, name))}

    @property
    def calls_todos(self) -> bool:
        """True when the last reply wrote the todo list."""
        last = [message for message in self.messages[-2:] if message["role"] == "assistant"][-1:]
        return any(block.get("name") == TODO_TOOL for message in last for block in message["content"])

    def _count_round(self) -> None:
        self.rounds_without_todos = 0 if self.calls_todos else self.rounds_without_todos + 1

    def _hear(self, text: object, *, is_request: bool) -> None:
        if not isinstance(text, str) or not text.strip():
            return
        block = {"type": "text", "text": text}
        self._user_message()["content"].append(block)
        self._weigh([block])
        if is_request:
            self.requests.append(text)

    def _withdraw(self, texts: list[str]) -> None:
        """The texts, to which no model replied, are gone; so is the last message if it held little else."""
        self.requests = [request for request in self.requests if request not in texts]
        if not self.messages or self.messages[-1]["role"] != "user":
            return
        kept = [block for block in self.messages[-1]["content"] if block.get("text") not in texts]
        kept = [] if all(map(_tells_time, kept)) else kept
        self.messages = (
            [*self.messages[:-1], {**self.messages[-1], "content": kept}] if kept else self.messages[:-1]
        )
        self._weigh_all()

    def _shrink(self, line: dict[str, Any]) -> None:
        match line["step"]:
            case "edits":
                found = map(Edit.from_json, line["edits"])
                self.messages = with_edits(
                    self.messages, [edit for edit in found if edit.fits(self.messages)]
                )
            case "trim" if self.messages:
                head, tail = line["head"], line["tail"]
                *before, last = self.messages[:head]
                note = {"type": "text", "text": line["note"]}
                joined = {**last, "content": [*last["content"], note]}
                self.messages = [*before, joined, *self.messages[tail:]]
            case "summary":
                self.messages = compacted(line["text"], self.messages[line["tail"] :])
                self.summary_asked = []
                self.recalled = []  # what was recalled is gone, and comes again where it fits
                self._weigh_all()
                self.summed_up = self.characters
        self._weigh_all()

    def _user_message(self) -> Message:
        if not self.messages or self.messages[-1]["role"] != "user":
            self.messages.append({"role": "user", "content": []})
        return self.messages[-1]

    def _weigh(self, blocks: list[Block]) -> None:
        self.characters += sum(map(size_of, blocks))
        self.has_images = self.has_images or any(map(holds_image, blocks))

    def _weigh_all(self) -> None:
        self.characters, self.has_images = 0, False
        for message in self.messages:
            self._weigh(message["content"])


def _tells_time(block: Block) -> bool:
    return str(block.get("text", "")).startswith(TIME_TEXT.partition("{")[0])
