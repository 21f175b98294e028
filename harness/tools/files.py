"""Tools for single files: read, write, edit; and glob, which finds them."""

from __future__ import annotations

import difflib
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from coordination.errors import cause_of
from harness.tool import Effect, Refusal, Tool, ToolContext, ToolFailure, closed, objection
from harness.tools.paths import Place, as_inside, readable, writable
from harness.tools.walk import as_pattern, entries_below

if TYPE_CHECKING:
    from pathlib import Path

    from harness.tool import Arguments

FILE_BYTES = 50_000_000  # a larger file is nothing to read into a conversation
LINE_CHARACTERS = 2000  # of a line that is shown
LAST_LINE_CHARACTERS = 80  # kept free for what is said about the rest
TEMPORARY_PREFIX = ".leadhand-"  # so that what a kill leaves behind can be told from work
PATH = {"type": "string", "minLength": 1, "description": "Path relative to the working directory."}


@dataclass(frozen=True, kw_only=True)
class FileLimits:
    """How much of a file, and how many names, one result holds."""

    read_lines: int
    read_characters: int
    matches: int


def file_tools(limits: FileLimits) -> list[Tool]:
    """`read_file`, `write_file`, `edit_file`, `glob`."""
    return [_read_tool(limits), _write_tool(), _edit_tool(), _glob_tool(limits)]


def _read_tool(limits: FileLimits) -> Tool:
    async def run(arguments: dict[str, Any], context: ToolContext) -> str:
        place = readable(context, arguments["path"])
        offset, lines = arguments.get("offset", 0), arguments.get("limit", limits.read_lines)
        return await to_thread.run_sync(
            _read, place, offset, lines, limits.read_characters, abandon_on_cancel=True
        )

    lines = {
        "type": "integer",
        "minimum": 1,
        "description": f"Lines to read; {limits.read_lines} when not given.",
    }
    offset = {"type": "integer", "minimum": 0, "description": "Lines to pass over first."}
    return Tool(
        name="read_file",
        description="Read a text file, or a part of it; the last line says how many lines are left.",
        input_schema=closed({"path": PATH, "offset": offset, "limit": lines}, ["path"]),
        run=run,
        effect=Effect.READ,
    )


def _read(place: Place, offset: int, limit: int, characters: int) -> str:
    lines = _bytes_of(place).decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return "(the file is empty)"
    if offset >= len(lines):
        raise ToolFailure("past_the_end", f"{place.shown} has {len(lines)} lines; use a smaller offset")
    shown: list[str] = []
    characters -= LAST_LINE_CHARACTERS
    for line in lines[offset : offset + limit]:
        text = _shortened(line.removesuffix("\r"))
        characters -= len(text) + 1
        if shown and characters < 0:
            break
        shown.append(text)
    left = len(lines) - offset - len(shown)
    more = [f"... ({left} more lines; go on with offset {offset + len(shown)})"] if left else []
    return "\n".join(shown + more)


def _shortened(line: str) -> str:
    left = len(line) - LINE_CHARACTERS
    return line if left <= 0 else f"{line[:LINE_CHARACTERS]}... ({left} more characters in this line)"


def _bytes_of(place: Place) -> bytes:
    """The whole of a text file. Raises ToolFailure that says what is there instead."""
    path = place.path
    try:
        if path.is_dir():
            raise ToolFailure("is_directory", f"{place.shown} is a directory; list it with glob")
        if not path.exists():
            raise ToolFailure("no_such_file", f"there is no file {place.shown}{_near(path)}")
        if not path.is_file():
            raise ToolFailure("not_regular", f"{place.shown} is no regular file")
        with place.opened() as file:
            data = file.read(FILE_BYTES + 1)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ToolFailure("unreadable", f"cannot read {place.shown}: {cause_of(error)}") from error
    if len(data) > FILE_BYTES:
        raise ToolFailure(
            "too_large", f"{place.shown} has {size} bytes; look at parts of it with grep or bash"
        )
    if b"\0" in data[:8192]:
        raise ToolFailure("not_text", f"{place.shown} is binary, {size} bytes")
    return data


def _near(path: Path) -> str:
    names: list[str] = []
    with suppress(OSError):
        names = [entry.name for entry in path.parent.iterdir()]
    close = difflib.get_close_matches(path.name, names, n=3)
    return f"; did you mean {', '.join(close)}?" if close else "; find it with glob"


def _write_tool() -> Tool:
    async def run(arguments: dict[str, Any], context: ToolContext) -> str:
        place = writable(context, arguments["path"])
        data = _encoded(arguments["content"])
        await to_thread.run_sync(_replace, place, data)
        return f"Wrote {len(data)} bytes to {place.shown}"

    return Tool(
        name="write_file",
        description="Write a whole file, new or in place of what was there; directories are made as needed.",
        input_schema=closed({"path": PATH, "content": {"type": "string"}}, ["path", "content"]),
        run=run,
        effect=Effect.CHANGE,
    )


def _edit_tool() -> Tool:
    async def run(arguments: dict[str, Any], context: ToolContext) -> str:
        place = writable(context, arguments["path"])
        await to_thread.run_sync(_edit, place, arguments["old_text"], arguments["new_text"])
        return f"Edited {place.shown}"

    old = {"type": "string", "minLength": 1, "description": "Text that stands in the file exactly once."}
    new = {"type": "string", "description": "What stands there afterwards."}
    return Tool(
        name="edit_file",
        description="Replace one piece of a file. The old text has to match exactly, and only once.",
        input_schema=closed(
            {"path": PATH, "old_text": old, "new_text": new}, ["path", "old_text", "new_text"]
        ),
        run=run,
        effect=Effect.CHANGE,
        semantic=_changes_something,
    )


def _changes_something(arguments: Arguments) -> Refusal | None:
    if arguments["old_text"] != arguments["new_text"]:
        return None
    return objection("no_change", "old_text and new_text are the same; nothing would change")


def _edit(place: Place, old: str, new: str) -> None:
    try:
        text = _bytes_of(place).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolFailure("not_text", f"{place.shown} is no UTF-8 text; change it with bash") from error
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):  # the model writes plain newlines
        old, new = _with_crlf(old), _with_crlf(new)
    matches = len(re.findall(f"(?={re.escape(old)})", text))
    if matches == 0:
        raise ToolFailure("no_match", f"old_text is not in {place.shown}; read the file and copy it exactly")
    if matches > 1:
        raise ToolFailure(
            "many_matches",
            f"old_text stands in {place.shown} {matches} times; add lines around it until it is unique",
        )
    _replace(place, _encoded(text.replace(old, new)))


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolFailure(
            "not_text", f"the text holds half a character at {error.start}; leave it out"
        ) from error


def _replace(place: Place, data: bytes) -> None:
    """The file holds `data`, under the mode it had; a reader sees the old or the new."""
    path = place.path
    if path.exists() and not path.is_file():
        raise ToolFailure("not_regular", f"{place.shown} is no regular file; choose another name")
    temporary = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}.tmp"
    try:
        with place.parent(make=True) as parent:
            try:
                _write_new(temporary, data, parent, like=path.name)
                os.replace(temporary, path.name, src_dir_fd=parent, dst_dir_fd=parent)
            except OSError:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=parent)
                raise
    except OSError as error:
        raise ToolFailure("unwritable", f"cannot write {place.shown}: {cause_of(error)}") from error


def _write_new(name: str, data: bytes, parent: int, *, like: str) -> None:
    """The file is new, under the mode of the one that it is to replace."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o666, dir_fd=parent), "wb") as file:
        file.write(data)
        with suppress(FileNotFoundError):
            mode = os.stat(like, dir_fd=parent, follow_symlinks=False).st_mode
            os.fchmod(file.fileno(), mode & 0o7777)


def _glob_tool(limits: FileLimits) -> Tool:
    async def run(arguments: dict[str, Any], context: ToolContext) -> str:
        cwd = context.cwd().resolve()
        pattern = as_inside(cwd, arguments["pattern"])
        return await to_thread.run_sync(_glob, cwd, pattern, limits.matches, abandon_on_cancel=True)

    pattern = {"type": "string", "minLength": 1, "description": "Such as `src/**/*.py` or `*.{md,txt}`."}
    return Tool(
        name="glob",
        description=(
            "List files by a pattern: `*` stays in one directory, `**` goes down any number of them. "
            "Files that git ignores are left out. Directories end with a slash."
        ),
        input_schema=closed({"pattern": pattern}, ["pattern"]),
        run=run,
        effect=Effect.READ,
    )


def _glob(cwd: Path, glob: str, limit: int) -> str:
    pattern = as_pattern(glob)
    found = (
        entry.path + "/" * entry.is_directory
        for entry in entries_below(cwd)
        if pattern.match(entry.path) and not (entry.is_directory and "**" in glob)
    )
    names = list(islice(found, limit + 1))
    if len(names) > limit:
        names[limit] = f"... (more than {limit} matches; use a narrower pattern)"
    return "\n".join(names) or "(no matches)"
