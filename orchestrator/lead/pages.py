"""What a person reads who opens a directory of the team without the manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination import layout

if TYPE_CHECKING:
    from coordination.files import StateDirectory

PAGES = {
    f"{layout.TASKS}/README.md": """# The tasks of a leadhand team

`task_….json` is the newest version of each task, for you and for `jq`. While nobody holds the task you may
edit it there: leave `number` and `digest` as they are, and the edit becomes the next version.
`log/` has every version, which is the truth, and `graph/` which tasks there are and what needs what; neither
is ever edited. `ready/`, `holdings/` and `.lock` are hints, which may be wrong.

`leadhand tasks` shows the board, `leadhand tasks show ID` a task with its history.
""",
    f"{layout.MAILBOXES}/README.md": """# The mail of a leadhand team

`NAME.jsonl` is what that member has received, one message a line, in the order of arrival: a copy for you.
`NAME.d/` holds what was sent to it, one file for each process that sends, written by that process alone.

`leadhand mail NAME` shows it with what is on its way, `leadhand send NAME TEXT` adds to it.
""",
}


def lay_out(directory: StateDirectory) -> None:
    """The pages are there; one that somebody wrote stays, and where nothing can be written there is none."""
    for name, page in PAGES.items():
        if not directory.exists(name):
            directory.publish(name, page.encode())
