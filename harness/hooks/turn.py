"""Hooks around a turn: whether a person's words reach the model, and whether it may end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.hooks.events import Event
from harness.hooks.outcome import Says

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.hooks.hook_set import HookSet
    from harness.loop import Incoming
    from harness.tool import Record


class TurnHooks:
    """Asked by the loop; an object belongs to one agent."""

    def __init__(self, hooks: HookSet, *, record: Record, max_vetoes: int) -> None:
        """`max_vetoes` is how often in a row a hook may keep an agent from ending."""
        self._hooks = hooks
        self._record = record
        self._max_vetoes = max_vetoes

    async def admit(self, incoming: Sequence[Incoming]) -> tuple[list[Incoming], str]:
        """What may reach the model, with what hooks add to it; and why a person's words may not."""
        admitted: list[Incoming] = []
        for item in incoming:
            if item.kind != "user" or not self._hooks.has(Event.USER_PROMPT_SUBMIT):
                admitted.append(item)
                continue
            outcome = await self._hooks.on(Event.USER_PROMPT_SUBMIT, prompt=item.text)
            if outcome.says is not Says.PASS:
                return [], outcome.reason
            added = f"\n\n[A hook of the person adds]\n{outcome.context}" if outcome.context else ""
            admitted.append(replace(item, text=item.text + added))
        return admitted, ""

    async def objection_to_stop(self, text: str, vetoes: int) -> str:
        """Why the turn may not end yet, for the model; empty when it may.

        After so many vetoes in a row it may end all the same.
        """
        return await self._objection(Event.STOP, vetoes, last_assistant_message=text)

    async def objection_to_idle(self, vetoes: int) -> str:
        """The same for a teammate that has nothing more to do."""
        return await self._objection(Event.TEAMMATE_IDLE, vetoes)

    async def _objection(self, event: Event, vetoes: int, **fields: object) -> str:
        if not self._hooks.has(event):
            return ""
        if vetoes >= self._max_vetoes:
            self._record("hook_vetoes_capped", event=str(event), vetoes=vetoes)
            return ""
        outcome = await self._hooks.on(event, stop_hook_active=vetoes > 0, **fields)
        return outcome.reason if outcome.says is Says.BLOCK else ""
