"""The tool grep: ripgrep where it is installed, Python elsewhere."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from coordination.clock import Clock, SystemClock
from harness.tool import Effect, Refusal, Tool, ToolContext, ToolFailure, closed, objection
from harness.tools.paths import NEVER_SEARCHED, Place, as_inside, readable
from harness.tools.shell import run_process
from harness.tools.walk import as_pattern, entries_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.tool import Arguments

FILE_BYTES = 10_000_000  # larger files are passed over
LINE_CHARACTERS = 500  # of a matching line that are shown
SEARCHED_CHARACTERS = 20_000  # of one line; some patterns take for ever on longer ones
KEPT_BYTES = 2_000_000


@dataclass(frozen=True, kw_only=True)
class SearchLimits:
    """How much one search may find, and how long it may take."""

    matches: int
    timeout_seconds: float


@dataclass(frozen=True, kw_only=True)
class Query:
    """What is looked for."""

    pattern: str
    glob: str | None
    ignore_case: bool


def grep_tool(limits: SearchLimits) -> Tool:
    """The tool `grep`: lines that match, as `path:line:text`."""

    async def run(arguments: dict[str, Any], context: ToolContext) -> str:
        return _bounded(await _grep(arguments, context, limits), limits.matches)

    where = "File or directory; everything when not given."
    return Tool(
        name="grep",
        description=(
            "Search file contents for a regular expression; the result has `path:line:text`. "
            "Files that git ignores and binary files are left out."
        ),
        input_schema=closed(
            {
                "pattern": {"type": "string", "minLength": 1, "description": "Regular expression."},
                "path": {"type": "string", "minLength": 1, "description": where},
                "glob": {"type": "string", "minLength": 1, "description": "Only files such as `**/*.py`."},
                "ignore_case": {"type": "boolean"},
            },
            ["pattern"],
        ),
        run=run,
        effect=Effect.READ,
        semantic=_is_regex,
    )


async def _grep(arguments: dict[str, Any], context: ToolContext, limits: SearchLimits) -> list[str]:
    place = readable(context, arguments.get("path", "."))
    if not await to_thread.run_sync(place.path.exists):
        raise ToolFailure("no_such_file", f"there is no {place.shown}; find it with glob")
    cwd = context.cwd().resolve()
    query = Query(
        pattern=arguments["pattern"],
        glob=as_inside(cwd, arguments["glob"]) if "glob" in arguments else None,
        ignore_case=arguments.get("ignore_case", False),
    )
    program = _ripgrep(context, cwd)
    if program:
        lines = await _with_ripgrep(program, query, place, context, limits)
    else:
        search = partial(in_python, query, place, cwd, limits=limits, clock=SystemClock())
        lines = await to_thread.run_sync(search, abandon_on_cancel=True)
    return [line for line in lines if not context.hidden(line.partition(":")[0])]


def _is_regex(arguments: Arguments) -> Refusal | None:
    try:
        re.compile(arguments["pattern"])
    except re.error as error:
        return objection(
            "bad_pattern", f"pattern is no regular expression: {error}; escape special characters"
        )
    return None


def _bounded(lines: list[str], limit: int) -> str:
    shown = lines[:limit]
    if len(lines) > limit:
        shown.append(f"... (more than {limit} matches; narrow the pattern, path or glob)")
    return "\n".join(shown) or "(no matches)"


def _ripgrep(context: ToolContext, cwd: Path) -> str | None:
    """The program, if the person has one; never one that the working directory brought along."""
    found = shutil.which("rg", path=context.environment().get("PATH", ""))
    return None if found is None or Path(found).resolve().is_relative_to(cwd) else found


async def _with_ripgrep(
    program: str, query: Query, place: Place, context: ToolContext, limits: SearchLimits
) -> list[str]:
    finished = await run_process(
        [program, *_FLAGS, *_narrowing(query), "-e", query.pattern, "--", place.shown],
        context,
        timeout_seconds=limits.timeout_seconds,
        kept_bytes=KEPT_BYTES,
    )
    if finished.status is None:
        raise _took_too_long(limits)
    lines = finished.output.splitlines()
    if finished.status > 1 and not any(_MATCH.match(line) for line in lines):
        raise ToolFailure(
            "search_failed", finished.output.strip() or f"rg ended with status {finished.status}"
        )
    return [line.removeprefix("./") for line in lines if _MATCH.match(line)]


_MATCH = re.compile(r".+?:\d+:")
_FLAGS = (
    "--no-config",
    "--line-number",
    "--no-heading",
    "--with-filename",
    "--color=never",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--no-messages",
    f"--max-columns={LINE_CHARACTERS}",
    "--max-columns-preview",
    f"--max-filesize={FILE_BYTES}",
    "--sort=path",
)


def _narrowing(query: Query) -> list[str]:
    flags = ["--ignore-case"] if query.ignore_case else []
    flags += [f"--glob={query.glob}"] if query.glob else []
    return flags + [f"--iglob=!{pattern}" for pattern in NEVER_SEARCHED]  # last, since the last one decides


def in_python(query: Query, place: Place, cwd: Path, *, limits: SearchLimits, clock: Clock) -> list[str]:
    """What ripgrep would find, one line more than the limit at most. Raises ToolFailure when too slow."""
    wanted = re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
    deadline = clock.monotonic() + limits.timeout_seconds
    found: list[str] = []
    for candidate in _candidates(query, place, cwd):
        if clock.monotonic() > deadline:
            raise _took_too_long(limits)
        found += islice(_matches(wanted, candidate), limits.matches + 1 - len(found))
        if len(found) > limits.matches:
            break
    return found


def _candidates(query: Query, place: Place, cwd: Path) -> Iterator[Place]:
    if place.path.is_file():
        yield place
        return
    glob = query.glob or "**"
    pattern = as_pattern(glob if "/" in glob else f"**/{glob}")
    for entry in entries_below(cwd, "" if place.shown == "." else place.shown):
        path = cwd / entry.path
        if not entry.is_directory and pattern.match(entry.path) and not path.is_symlink():
            yield Place(path=path, top=cwd, shown=entry.path)


def _matches(wanted: re.Pattern[str], place: Place) -> Iterator[str]:
    try:
        with place.opened() as file:
            data = file.read(FILE_BYTES + 1)
    except OSError:  # vanished, or not ours to read
        return
    if b"\0" in data[:8192] or len(data) > FILE_BYTES:
        return
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if wanted.search(line[:SEARCHED_CHARACTERS]):
            yield f"{place.shown}:{number}:{line[:LINE_CHARACTERS]}"


def _took_too_long(limits: SearchLimits) -> ToolFailure:
    seconds = f"{limits.timeout_seconds:g}"
    return ToolFailure("timeout", f"nothing after {seconds} s; narrow the path or the glob")
