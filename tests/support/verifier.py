"""A verifier during whose checks something else happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workspace.checks import Verifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordination.records import CheckResult


class SlowVerifier(Verifier):
    """Calls `meanwhile` while the checks run."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.meanwhile: Callable[[], object] = lambda: None

    def verify(self, *arguments: Any, **named: Any) -> tuple[CheckResult, ...]:
        self.meanwhile()
        return super().verify(*arguments, **named)
