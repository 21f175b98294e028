"""An agent with a whole shell in its worktree tries to give itself authority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.forgery import ATTACKS, outcomes, render, written
from tests.support.sandbox import needs_sandbox

if TYPE_CHECKING:
    from pathlib import Path


def test_without_the_sandbox_the_threat_model_says_what_works(tmp_path: Path) -> None:
    found = outcomes(tmp_path / "stage", "off")
    assert list(found) == [attack.name for attack in ATTACKS]
    assert render(found) == written(), "write the page anew: python -m tests.support.forgery"


@needs_sandbox
def test_with_the_sandbox_none_works(tmp_path: Path) -> None:
    found = outcomes(tmp_path / "stage", "bwrap")
    assert found == dict.fromkeys((attack.name for attack in ATTACKS), False)
