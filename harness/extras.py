"""What one agent has beside its built-in tools: its role, instructions, skills and servers of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordination.child import unconfined
from harness.mcp.assemble import make_servers, server_tools
from harness.request_cost import RequestCost
from harness.roles.role import CONNECT
from harness.skills.active import LOAD_SKILL
from harness.skills.loading import SkillLoader
from harness.tools.mcp import servers_section
from harness.tools.skill import load_skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from coordination.child import Confine
    from coordination.files import StateDirectory
    from harness.catalogs import Catalogs
    from harness.loop import Agent
    from harness.mcp.transports import WayToShared
    from harness.settings.settings import Settings
    from harness.tool import Record, Tool
    from harness.tool_pool import ToolPool


class Extras:
    """Tools and sections of the prompt, for one conversation."""

    def __init__(  # noqa: PLR0913 - what one agent is told from, named once
        self,
        catalogs: Catalogs,
        settings: Settings,
        directory: StateDirectory,
        *,
        agent: str,
        cwd: Callable[[], Path],
        record: Record,
        shared: WayToShared,
        role: str | None = None,
        confine: Confine = unconfined,
    ) -> None:
        """`shared` is the way to MCP servers that agents of this host have in common.

        `role` is that of a teammate; a lead has none, and chooses among them. `confine` puts the servers
        that the repository brings along into the sandbox. Raises RoleBroken.
        """
        self._agent: Agent | None = None
        self._role = catalogs.roles.role(role) if role else None
        self._about_roles = "" if role else catalogs.roles.section
        self._skills = catalogs.skills
        self.instructions = catalogs.instructions.section(settings.instructions_characters)
        self._record = record
        self._loader = SkillLoader(
            catalogs.skills,
            budget_tokens=settings.skills_budget_tokens,
            messages=lambda: self._agent.messages if self._agent else (),
        )
        self.servers = make_servers(
            catalogs.configured,
            settings,
            directory,
            agent=agent,
            cwd=cwd,
            record=record,
            shared=shared,
            confine=lambda name: confine if catalogs.is_of_repository(name) else unconfined,
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
        agent.cost = RequestCost(
            servers=self.servers.configured, instructions=self.instructions, sections=lambda: self.sections
        )

    def agent(self) -> Agent | None:
        """Whose conversation it is, once it is put together."""
        return self._agent

    def admits(self, tool: str) -> bool:
        """True unless the role takes the tool from its members."""
        return self._role is None or self._role.admits(tool)

    @property
    def sections(self) -> tuple[str, ...]:
        """Roles, skills and MCP servers, for the prompt."""
        role = self._role.section if self._role else self._about_roles
        skills = self._skills.section if self.admits(LOAD_SKILL) else ""
        servers = servers_section(self.servers) if self.admits(CONNECT) else ""
        return role, skills, servers
