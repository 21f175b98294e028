"""One role as its file describes it: what its members are told, with which tools and which model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.skills.frontmatter import Problem

TEAM_TOOLS = frozenset(  # what makes a process a teammate: without these nobody could work on a task
    {
        *("list_tasks", "get_task", "claim_task", "complete_task"),
        *("submit_plan", "send_message", "todo_write"),
    }
)
OF_THE_SHELL = frozenset({"list_background", "tail_background", "kill_background"})
CONNECT = "connect_mcp"
SERVERS = "mcp__"  # names of servers' tools begin so: `mcp__server__tool`


@dataclass(frozen=True, kw_only=True)
class Role:
    """A role that members may have."""

    name: str
    description: str  # for whoever chooses among roles
    prompt: str  # the body of the file
    source: str  # path of the file, relative to the repository
    digest: str  # SHA-256 of the file
    tools: tuple[str, ...] | None = None  # that members may use beside TEAM_TOOLS; None: all
    without: tuple[str, ...] = ()  # and what of these they may not
    model: str | None = None  # as the server calls it; None: that of the other teammates

    def admits(self, tool: str) -> bool:
        """True unless the role takes the tool from its members. A role gives none to anybody."""
        if tool in TEAM_TOOLS:
            return True
        if _is_among(tool, self.without):
            return False
        if tool == CONNECT and self.tools:  # the way to the servers whose tools it has
            return tool in self.tools or any(name.startswith(SERVERS) for name in self.tools)
        return self.tools is None or _is_among(tool, self.tools)

    @property
    def section(self) -> str:
        """What the prompt of its members says."""
        return f"# Your role: {self.name}\n{self.prompt}" if self.prompt else ""

    @property
    def says_tools(self) -> str:
        """Its tools in words."""
        allowed = "all tools" if self.tools is None else f"tools {', '.join(self.tools)}"
        return f"{allowed}, without {', '.join(self.without)}" if self.without else allowed


@dataclass(frozen=True, kw_only=True)
class RoleReading:
    """What came of a file: a role, unless one of the problems is an error."""

    name: str  # of the role, or of the file where that is all there is
    path: str  # of the file, relative to the repository
    role: Role | None = None
    problems: tuple[Problem, ...] = ()


def _is_among(tool: str, names: tuple[str, ...]) -> bool:
    """With the shell go the tools that look after its commands."""
    if tool in OF_THE_SHELL and "bash" in names:
        return True
    return any(tool == name or _is_of_server(tool, name) for name in names)


def _is_of_server(tool: str, name: str) -> bool:
    """`mcp__docs` and `mcp__docs__*` stand for all tools of the server docs."""
    server = name.removesuffix("*").removesuffix("__")
    return server.startswith(SERVERS) and server.count("__") == 1 and tool.startswith(f"{server}__")
