"""How a teammate learns that it has to stop: by a request on disk, or by a signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.protocols import Kind, shutdown_refusal
from coordination.records import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.stores import Stores


class Shutdown:
    """Whether this process was asked to stop, and why."""

    def __init__(self, stores: Stores, *, me: str) -> None:
        self.why: str | None = None
        self.at_once = False  # not even a check that runs is waited for
        self._stores = stores
        self._me = me
        self._told: set[str] = set()  # requests that were ignored

    @property
    def asked(self) -> bool:
        return self.why is not None

    def ask(self, why: str, *, at_once: bool = False) -> None:
        """The process stops at the next point where it can."""
        self.why = self.why or why
        self.at_once = self.at_once or at_once

    def look(self, *, ignored: Callable[[str], None]) -> None:
        """An open request to stop this process is answered and obeyed; `ignored` hears once of others."""
        newest = self._stores.leadership.newest()
        for asked in self._stores.requests.open():
            question = asked.question
            if (
                question.kind != Kind.SHUTDOWN
                or question.subject.partition("~")[0] != self._me.partition("~")[0]
            ):
                continue
            refusal = shutdown_refusal(asked, me=self._me, present_term=newest[0] if newest else 0)
            if refusal:
                if question.id not in self._told:
                    ignored(refusal)
                self._told.add(question.id)
                continue
            self._stores.requests.decide(question.id, Verdict.APPROVE, reason="stopping")
            self.ask(f"{question.asker} asked it to stop")
