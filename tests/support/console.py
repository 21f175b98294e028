"""A console whose person says what a test wrote down."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from orchestrator.terminal.console import Console

if TYPE_CHECKING:
    from collections.abc import Mapping


class ScriptedConsole(Console):
    """Keeps what is shown; the person answers from a list."""

    def __init__(self, *answers: str, as_json: bool = False) -> None:
        super().__init__(as_json=as_json)
        self.shown: list[str] = []
        self.asked: list[str] = []
        self._answers = list(answers)

    def say(self, text: str) -> None:
        self.shown.append(text)

    def emit(self, event: Mapping[str, Any]) -> None:
        self.shown.append(json.dumps(event))

    async def ask(self, question: str) -> str:
        self.asked.append(question)
        return self._answers.pop(0)
