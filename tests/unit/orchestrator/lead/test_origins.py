"""Whose request it is what a lead's model schedules: read off the conversation, also after a restart."""

from __future__ import annotations

from typing import Any

import pytest

from coordination.schedule_rules import Rank
from harness.context.conversation import Conversation
from orchestrator.lead.tooling import origin_of

Line = dict[str, Any]
CALL = {"type": "tool_use", "id": "c1", "name": "schedule_cron", "input": {}}
ASKS = {"kind": "user", "text": "remind me every hour"}
MAIL = {"kind": "mail", "text": "<mail>", "message": {"from": "bob~2"}}
CALLS = {"kind": "assistant", "content": [CALL]}
RESULTS = {"kind": "tool_results", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}
SAYS = {"kind": "assistant", "content": [{"type": "text", "text": "Done."}]}
PAGE = {"kind": "mark", "untrusted": "the output of 'curl'"}


@pytest.mark.parametrize(
    ("lines", "rank", "made_in"),
    [
        ([ASKS], Rank.REQUEST, "user"),
        ([ASKS, CALLS, RESULTS, {"kind": "reminder", "text": "todos"}], Rank.REQUEST, "user"),
        ([MAIL], Rank.DATA, "mail"),
        ([ASKS, CALLS, RESULTS, MAIL], Rank.DATA, "mail, user"),
        ([MAIL, SAYS, ASKS], Rank.REQUEST, "user"),
        ([MAIL, SAYS, {"kind": "continuation", "text": "go on"}, ASKS], Rank.DATA, "mail, user"),
        ([ASKS, CALLS, PAGE, RESULTS], Rank.DATA, "user, the output of 'curl'"),
        ([ASKS, CALLS, PAGE, RESULTS, SAYS, ASKS], Rank.DATA, "user, the output of 'curl'"),
        ([{**ASKS, "kind": "unsigned"}], Rank.DATA, "unsigned"),
        ([], Rank.DATA, ""),
    ],
)
def test_only_what_nobody_but_the_person_had_a_word_in_is_a_request(
    lines: list[Line], rank: Rank, made_in: str
) -> None:
    live = Conversation()
    for line in lines:
        live.take(line)
    resumed = Conversation.of(lines)
    handed_on = Conversation.of([{"kind": "conversation", **resumed.to_json()}])
    assert [origin_of(each) for each in (live, resumed, handed_on)] == [(rank, made_in)] * 3
