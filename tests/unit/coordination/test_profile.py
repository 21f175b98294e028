from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from coordination import layout
from coordination.numbered_log import pretty, seal
from coordination.profile import OtherHost, Profile, agree_on_profile

if TYPE_CHECKING:
    from coordination.team_root import Team


def test_the_first_process_records_the_profile_and_others_find_it(team: Team) -> None:
    assert agree_on_profile(team) is agree_on_profile(team) is Profile.LOCAL
    assert team.directory.names(layout.PROFILE_LOG) == ["1.json"]


def test_a_process_of_another_host_is_refused_by_name(team: Team) -> None:
    body = {"profile": "local", "host": "elsewhere", "at": ""}
    team.directory.make(layout.PROFILE_LOG)
    document = seal("profile/mount", body, number=1, prev=0, commit_id="x")
    team.directory.publish(layout.record(layout.PROFILE_LOG, 1), pretty(document))
    with pytest.raises(OtherHost, match="elsewhere"):
        agree_on_profile(team)
