"""When a schedule fires: every case of `tests/cases/cron.json`, and what the messages say."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from harness.cron_times import BadSchedule, fire_times, next_fire, point, zone

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "cases" / "cron.json").read_text(encoding="utf-8")
)["cases"]
CHOSEN = {"v01": 1}  # both days must match where one begins with an asterisk, as Debian's cron has it


def times(case: dict[str, Any]) -> list[str] | str:
    after = datetime.fromisoformat(case["reference"]).replace(tzinfo=zone(case["timezone"]))
    try:
        return [time.isoformat() for time in islice(fire_times(case["expr"], case["timezone"], after), 3)]
    except BadSchedule:
        return "invalid"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']} {case['expr']}")
def test_a_case_fires_as_it_should(case: dict[str, Any]) -> None:  # T135, W42
    wanted = case["also_accept"] if case["id"] in CHOSEN else case["expected"]
    assert times(case) == wanted


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("* * * * * *", "five fields are needed .*, not 6"),
        ("", "five fields are needed .*, not 0"),
        ("60 * * * *", "there is no such minute"),
        ("0 0 30 2 *", "there is no such day of month"),
        ("@daily", "five fields are needed"),
    ],
)
def test_what_is_wrong_is_said(expression: str, why: str) -> None:
    with pytest.raises(BadSchedule, match=f"is no schedule: {why}"):
        next_fire(expression, "UTC", datetime(2026, 3, 3, tzinfo=UTC))


def test_a_zone_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadSchedule, match="no time zone has that name; use one such as Europe/Berlin"):
        zone("Mars/Olympus")
    with pytest.raises(BadSchedule):
        zone("../../etc/passwd")


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-07-01T12:00", "2026-07-01T10:00:00+00:00"),
        ("2026-07-01T12:00+05:00", "2026-07-01T07:00:00+00:00"),
        ("2026-03-29T02:30", "2026-03-29T01:30:00+00:00"),  # no such time in Berlin: the hour after it
        ("2026-10-25T02:30", "2026-10-25T00:30:00+00:00"),  # comes twice: the first
    ],
)
def test_a_point_of_time_is_read_in_its_zone(text: str, utc: str) -> None:
    assert point(text, "Europe/Berlin").isoformat() == utc


def test_a_text_that_is_no_time_is_refused() -> None:
    with pytest.raises(BadSchedule, match="a time looks like"):
        point("soon", "UTC")
