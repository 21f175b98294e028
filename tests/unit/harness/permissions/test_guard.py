"""The permission gate before real tools in a real directory: links, secrets, protected paths."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest

from harness.assembly import workspace_tools
from harness.permissions.guard import PermissionGuard
from harness.permissions.questions import Answer
from harness.permissions.rules import parse_rules
from harness.permissions.ruling import Policy
from harness.settings.settings import Settings
from harness.tool_pool import ToolPool
from tests.support.tools import LIMITS, Person, Trail, call, context

if TYPE_CHECKING:
    from pathlib import Path


class Desk:
    """A working directory with secrets in it, and a person who may be there."""

    def __init__(self, place: Path) -> None:
        self.cwd = place / "tree"
        (self.cwd / "private").mkdir(parents=True)
        (self.cwd / "a.py").write_text("X = 1\n")
        (self.cwd / ".env").write_text("KEY=X\n")
        (self.cwd / "private/notes.txt").write_text("X marks the spot\n")
        (place / "outside.txt").write_text("X is out there\n")
        (self.cwd / "link.txt").symlink_to(place / "outside.txt")
        (self.cwd / "innocent.txt").symlink_to(self.cwd / ".env")
        self.person = Person()

    def tries(
        self,
        name: str,
        *,
        role: str = "teammate",
        deny: tuple[str, ...] = (),
        allow: tuple[str, ...] = (),
        **arguments: str,
    ) -> str:
        """The result of the call."""
        policy = Policy(rules=parse_rules(allow=allow, ask=[], deny=deny), role=role)
        guard = PermissionGuard(policy, lambda: self.cwd, self.person, root=self.cwd)
        where = replace(context(self.cwd), hidden=policy.hides)
        over = ToolPool(workspace_tools(Settings()), [guard], context=where, record=Trail(), limits=LIMITS)
        [result] = anyio.run(over.run, [call(name, **arguments)])
        return str(result["content"])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


ASKED = "[permission/nobody_to_ask]"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": ".env"}),
        ("read_file", {"path": "innocent.txt"}),
        ("grep", {"pattern": "KEY", "path": ".env"}),
        ("write_file", {"path": ".env", "content": ""}),
        ("bash", {"command": "cat .env"}),
        ("bash", {"command": "cat innocent.txt"}),
        ("bash", {"command": "cat inn*"}),
        ("bash", {"command": "cat .e??"}),
        ("bash", {"command": "grep -r KEY ."}),
        ("bash", {"command": "cat link.txt"}),
        ("bash", {"command": "cat l*.txt"}),
    ],
)
def test_what_leads_to_a_secret_or_outside_asks_first(
    desk: Desk, name: str, arguments: dict[str, str]
) -> None:
    assert desk.tries(name, **arguments).startswith(ASKED)


def test_a_person_may_let_a_secret_be_read(desk: Desk) -> None:
    desk.person.says = Answer(allowed=True, reason="approved")
    assert desk.tries("read_file", path=".env") == "KEY=X"
    assert "KEY=X" in desk.tries("bash", command="cat .env")
    assert desk.person.asked[0].why == ".env looks like a file with credentials"


def test_a_search_passes_over_secrets_unasked(desk: Desk) -> None:
    assert desk.tries("grep", pattern="X").splitlines() == [
        "a.py:1:X = 1",
        "private/notes.txt:1:X marks the spot",
    ]


@pytest.mark.parametrize("role", ["lead", "teammate", "reviewer"])
def test_s30_what_may_not_be_read_is_not_read_by_another_role_or_another_tool(desk: Desk, role: str) -> None:
    deny = ("read_file(private/*)", "read_file(.env)")
    refused = "[permission/denied] the rule read_file("
    for path in ("private/notes.txt", ".env"):
        assert desk.tries("read_file", role=role, deny=deny, path=path).startswith(refused)
        assert desk.tries("grep", role=role, deny=deny, pattern="X", path=path).startswith(refused)
        assert desk.tries("bash", role=role, deny=deny, command=f"cat {path}").startswith(refused)
    assert desk.tries("bash", role=role, deny=deny, command="grep -rn X").startswith(refused)
    assert desk.tries("grep", role=role, deny=deny, pattern="X").splitlines() == ["a.py:1:X = 1"]


@pytest.mark.parametrize(
    "path", ["leadhand.yaml", ".mcp.json", ".git/config", "sub/.git/hooks/x", ".team/x", ".TASKS/x"]
)
def test_protected_paths_refuse_writes_from_every_tool(desk: Desk, path: str) -> None:  # W3, W4
    desk.person.says = Answer(allowed=True, reason="approved")
    for name, arguments in (
        ("write_file", {"path": path, "content": "x"}),
        ("edit_file", {"path": path, "old_text": "a", "new_text": "b"}),
        ("bash", {"command": f"echo x > {path}"}),
        ("bash", {"command": f"mkdir -p sub && cp a.py {path}"}),
    ):
        assert desk.tries(name, **arguments).startswith("[permission/protected]")
    assert desk.person.asked == []


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md",
        "docs/claude.md",
        "skills/sum/SKILL.md",
        "skills/sum/scripts/run.py",
        "skills/new/SKILL.md",
    ],
)
def test_what_agents_are_told_is_written_with_the_persons_word(desk: Desk, path: str) -> None:
    (desk.cwd / "skills/sum/scripts").mkdir(parents=True)
    (desk.cwd / "skills/sum/SKILL.md").write_text("Sum.\n")
    assert desk.tries("write_file", path=path, content="Obey me.").startswith(ASKED)
    assert desk.tries("bash", allow=("bash",), command=f"echo Obey me. > {path}").startswith(ASKED)
    assert desk.tries("write_file", path="skills/readme.md", content="x").startswith("Wrote")
    allowed = desk.tries("write_file", allow=(f"write_file({path})",), path=path, content="As I say.")
    assert allowed.startswith("Wrote")


def test_a_harmless_command_runs_where_nobody_can_be_asked(desk: Desk) -> None:  # T109, W1
    assert desk.tries("bash", command="cat a.py | wc -l").strip() == "1"
    assert desk.tries("bash", command="python3 -c 1").startswith(
        "[permission/nobody_to_ask] python3 -c 1: python3 may change something"
    )


@pytest.mark.parametrize("command", ["touch spoilt", 'python3 -c \'open("spoilt", "w")\''])
def test_a_command_that_the_person_denies_never_runs(desk: Desk, command: str) -> None:  # T20
    desk.person.says = Answer(allowed=False, reason="denied")
    assert desk.tries("bash", command=command).startswith("[permission/denied]")
    assert len(desk.person.asked) == 1
    assert not (desk.cwd / "spoilt").exists()
