"""What the verbs that act from outside say where nobody works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from coordination.errors import UsageError
from orchestrator.cli.act import compact, send
from tests.support.people import leads

if TYPE_CHECKING:
    import click

    from coordination.team_root import Team


def said(team: Team, verb: click.Command, *arguments: str) -> str:
    """What the verb says; what it raises goes on, as to the border of the process."""
    return CliRunner().invoke(verb, [*arguments, "--team", str(team.root)], catch_exceptions=False).output


def test_mail_to_a_lead_says_when_nobody_leads(team: Team) -> None:
    assert "nobody leads now" in said(team, send, "lead", "hello")
    leads(team)
    assert "nobody leads now" not in said(team, send, "lead", "hello")


def test_nobody_can_be_asked_to_sum_up_where_no_teammate_runs(team: Team) -> None:
    with pytest.raises(UsageError, match="bob is not running; no teammate runs"):
        said(team, compact, "bob")
