"""The parts that every agent is put together from, whatever its role."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from coordination.child import RunningGroups, tool_environment, unconfined
from harness.context.compactor import Compactor
from harness.context.gauge import ContextLimits
from harness.context.settings import ContextSettings
from harness.loop import AgentSettings
from harness.models.anthropic_model import AnthropicModel
from harness.models.endpoint import DEFAULT_ADDRESS, Endpoint
from harness.models.metered_model import MeteredModel
from harness.models.recovery import RecoveringModel
from harness.permissions.guard import Mark
from harness.permissions.rules import parse_rules
from harness.permissions.ruling import Policy
from harness.tool import ToolContext, trusting
from harness.tool_pool import ResultLimits
from harness.tools.background_tools import background_tools
from harness.tools.files import FileLimits, file_tools
from harness.tools.search import SearchLimits, grep_tool
from harness.tools.shell import ShellLimits, bash_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from coordination.child import Confine
    from coordination.events import Recorder
    from harness.loop import Agent
    from harness.models.budget import Budget
    from harness.models.model import Model
    from harness.models.recovery import Waiting
    from harness.models.throttle import Throttle
    from harness.off_loop import OffLoop
    from harness.results import ResultFiles
    from harness.settings.settings import Settings
    from harness.tool import Distrust, Record, Tool
    from harness.tools.background import Background


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The conversation whose calls a pool runs."""

    agent: Callable[[], Agent | None]  # once it is put together
    record: Record  # of what becomes of the calls
    outputs: ResultFiles  # for results that are too long for it
    distrust: Distrust = trusting  # told beside the conversation itself what comes from elsewhere


def make_model(  # noqa: PLR0913 - the parts of one role, named once
    settings: Settings,
    throttle: Throttle,
    *,
    budget: Budget,
    task: Callable[[], str],
    on_wait: Callable[[Waiting], None],
    on_model: Callable[[str], None],
    before_call: Callable[[], object],
    off_loop: OffLoop,
) -> MeteredModel:
    """The model on its server, with recovery, limits and a meter. Raises CredentialsMissing.

    `before_call` raises for a process that may call no more; it is called through `off_loop`.
    """
    endpoint = Endpoint(
        address=settings.base_url or DEFAULT_ADDRESS, api_key=settings.api_key, auth_token=settings.auth_token
    )
    recovering = RecoveringModel(
        budget.limit(AnthropicModel(endpoint), task),
        fallback=settings.fallback_model_id,
        throttle=throttle,
        on_wait=on_wait,
        on_model=on_model,
        before_call=before_call,
        off_loop=off_loop,
    )
    return MeteredModel(recovering)


def make_compactor(
    settings: Settings,
    model: Model,
    outputs: ResultFiles,
    events: Recorder,
    *,
    state: Callable[[], Awaitable[str]],
    on_text: Callable[[str], None] = lambda _: None,
) -> Compactor:
    """What keeps the conversation within the window; `state` is put back from disk after a summary."""
    limits = ContextLimits(
        **{of.name: getattr(settings, of.name) for of in fields(ContextSettings)},
        reply_tokens=settings.max_tokens,
        preview_characters=settings.result_preview_characters,
    )
    return Compactor(model=model, outputs=outputs, limits=limits, events=events, state=state, on_text=on_text)


def agent_settings(settings: Settings, model: str | None) -> AgentSettings:
    """What an agent of this model is run with."""
    return AgentSettings(
        model=model or settings.model_id or "",
        max_tokens=settings.max_tokens,
        max_rounds=settings.max_rounds,
    )


def workspace_tools(settings: Settings, background: Background | None = None) -> list[Tool]:
    """Shell, files and search, within the limits of the settings; without `background` nothing runs on."""
    shell = ShellLimits(
        timeout_seconds=settings.bash_timeout_seconds,
        max_timeout_seconds=settings.bash_max_timeout_seconds,
        kept_bytes=settings.bash_kept_bytes,
    )
    files = FileLimits(
        read_lines=settings.read_lines,
        read_characters=settings.result_inline_characters,
        matches=settings.search_matches,
    )
    search = SearchLimits(matches=settings.search_matches, timeout_seconds=settings.search_timeout_seconds)
    tools = [*file_tools(files), grep_tool(search)]
    if background is None:
        return [bash_tool(shell), *tools]
    return [bash_tool(shell, background.placeholder), *tools, *background_tools(background)]


def policy_of(settings: Settings, role: str, checks: Mapping[str, str] | None = None) -> Policy:
    """What the calls of this role are judged by; `checks` are those of the run, if there is one.

    Raises BadRule.
    """
    rules = parse_rules(allow=settings.allow, ask=settings.ask, deny=settings.deny)
    known = (*(checks or settings.checks).values(), *settings.setup)
    return Policy(rules=rules, role=role, checks=known)


def tool_context(  # noqa: PLR0913 - each role gives its own parts by name
    settings: Settings,
    caller: Caller,
    *,
    cwd: Callable[[], Path],
    progress: Callable[[], None] = lambda: None,
    groups: RunningGroups | None = None,
    variables: Callable[[], Mapping[str, str]] = dict,
    confine: Confine = unconfined,
) -> ToolContext:
    """What the tools of the caller are given.

    `variables` are those of the present tree, beside what every command finds in its environment;
    `confine` puts commands into the sandbox, where there is one.
    """

    async def distrust(why: str, server: str = "", /) -> None:
        if (present := caller.agent()) and server not in settings.trusted_servers:
            await caller.distrust(why, server)
            await present.distrust(why)

    return ToolContext(
        cwd=cwd,
        environment=lambda: tool_environment(variables(), passed=settings.environment_pass),
        outputs=caller.outputs,
        confine=confine,
        progress=progress,
        groups=groups or RunningGroups(),
        distrust=distrust,
        untrusted=lambda: present.conversation.tainted_by if (present := caller.agent()) else "",
    )


def mark_of(agent: Callable[[], Agent | None], settings: Settings) -> Mark:
    """What came into the agent's conversation from elsewhere; nothing where the guard is off."""
    present = agent()
    if present is None or not settings.guard:
        return Mark()
    return Mark(why=present.conversation.untrusted, members=frozenset(present.conversation.marked))


def result_limits(settings: Settings) -> ResultLimits:
    """How much of a result the model sees."""
    return ResultLimits(
        inline_characters=settings.result_inline_characters,
        preview_characters=settings.result_preview_characters,
    )
