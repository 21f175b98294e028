"""The tools that work in a directory, sized by the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.tool import Effect
from harness.tool_pool import ResultLimits
from harness.tools.files import FileLimits, file_tools
from harness.tools.search import SearchLimits, grep_tool
from harness.tools.shell import ShellLimits, bash_tool

if TYPE_CHECKING:
    from harness.settings import Settings
    from harness.tool import Tool


def working_tools(settings: Settings) -> list[Tool]:
    """`bash`, `read_file`, `write_file`, `edit_file`, `glob`, `grep`."""
    shell = ShellLimits(
        timeout_seconds=settings.bash_timeout_seconds,
        max_timeout_seconds=max(settings.bash_max_timeout_seconds, settings.bash_timeout_seconds),
        kept_bytes=settings.bash_kept_bytes,
    )
    files = FileLimits(
        read_lines=settings.read_lines,
        read_characters=settings.result_inline_characters * 9 // 10,  # room for the last line
        matches=settings.search_matches,
    )
    search = SearchLimits(matches=settings.search_matches, timeout_seconds=settings.search_timeout_seconds)
    return [bash_tool(shell), *file_tools(files), grep_tool(search)]


def reading_tools(settings: Settings) -> list[Tool]:
    """Those of them that change nothing."""
    return [tool for tool in working_tools(settings) if tool.effect is Effect.READ]


def result_limits(settings: Settings) -> ResultLimits:
    """What a tool pool shows of a result."""
    return ResultLimits(
        inline_characters=settings.result_inline_characters,
        preview_characters=settings.result_preview_characters,
    )
