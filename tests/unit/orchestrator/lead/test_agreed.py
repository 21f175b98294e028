"""What a person named for one run alone holds for its next lead, and loosens nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.settings.settings import Settings
from orchestrator.lead.agreed import held, named

BASE = Settings(model_id="big", prices=("big 3 15",), team_max_usd=5.0)


def test_what_the_command_line_names_is_kept() -> None:
    flags = {"limits.team.max_usd": 3.0, "limits.team.max_tokens": None, "sandbox": "off"}
    assert named(flags) == {"limits.team.max_usd": 3.0}


@pytest.mark.parametrize(
    ("agreed", "expected"),
    [
        ({"limits.team.max_usd": "3"}, replace(BASE, team_max_usd=3.0)),
        ({"limits.team.max_usd": 9}, BASE),
        ({"limits.task.max_turns": 7}, replace(BASE, task_max_turns=7)),
        ({"prices": ["big 0 0", "tiny 1 2"]}, replace(BASE, prices=("big 3 15", "tiny 1 2"))),
        ({"sandbox": "off", "guard": False, "limits.nothing": 1, "limits.team.max_usd": "none at all"}, BASE),
        ({"prices": "tiny 1 2"}, BASE),
        ({"prices": [7]}, BASE),
    ],
    ids=["stricter", "looser", "new", "prices", "forged", "no list", "no price"],
)
def test_it_only_tightens(agreed: dict[str, Any], expected: Settings) -> None:
    assert held(BASE, agreed, {}) == expected


def test_what_is_said_anew_counts() -> None:
    told = replace(BASE, team_max_usd=10.0)
    assert held(told, {"limits.team.max_usd": 3}, {"limits.team.max_usd": 10.0}) == told
