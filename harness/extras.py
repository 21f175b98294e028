"""What one agent has beside its built-in tools: instructions, skills and MCP servers of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.mcp.assemble import make_servers, server_tools
from harness.skills.loading import SkillLoader
from harness.tools.mcp import servers_section
from harness.tools.skill import load_skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from coordination.files import StateDirectory
    from harness.catalogs import Catalogs
    from harness.loop import Agent
    from harness.settings import Settings
    from harness.tool import Record, Tool
    from harness.tool_pool import ToolPool


class Extras:
    """Tools and sections of the prompt, for one conversation."""

    def __init__(
        self,
        catalogs: Catalogs,
        settings: Settings,
        directory: StateDirectory,
        *,
        agent: str,
        cwd: Callable[[], Path],
        record: Record,
    ) -> None:
        self._agent: Agent | None = None
        self._skills = catalogs.skills
        self.instructions = catalogs.instructions.section(settings.instructions_characters)
        self._record = record
        self._loader = SkillLoader(
            catalogs.skills,
            budget_tokens=settings.skills_budget_tokens,
            messages=lambda: self._agent.messages if self._agent else (),
        )
        self.servers = make_servers(
            catalogs.configured, settings, directory, agent=agent, cwd=cwd, record=record
        )

    @property
    def tools(self) -> list[Tool]:
        """`load_skill` and `connect_mcp`, as far as there is something to load or connect."""
        skills = [load_skill(self._loader, self._record)] if self._skills.skills else []
        return [*skills, *server_tools(self.servers)]

    def join(self, agent: Agent, pool: ToolPool) -> None:
        """Skills are active in the conversation of this agent; tools of servers go to its pool."""
        self._agent = agent
        self.servers.offer = pool.offer

    def agent(self) -> Agent | None:
        """Whose conversation it is, once it is put together."""
        return self._agent

    @property
    def sections(self) -> tuple[str, str]:
        """Skills and MCP servers, for the prompt."""
        return self._skills.section, servers_section(self.servers)
