"""Pure: what a command of git reads, changes and sends."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.permissions.shell.act import Act, in_options, shown, with_paths
from harness.permissions.shell.inside import git_words, values
from harness.permissions.shell.programs import names

if TYPE_CHECKING:
    from collections.abc import Sequence

_QUIET = re.compile(  # options before the subcommand, and settings, that start nothing
    r"--no-pager|-P|--no-optional-locks|--literal-pathspecs|--version|-v|--help|-h"
    r"|(?:color|advice|user|log|column|status|init)\.[\w.-]+=.*|core\.(?:quotepath|abbrev|autocrlf)=.*",
    re.IGNORECASE,
)
_MORE = re.compile(r"--(?:outp|ext-|textc|open-|exec|filter).*|-O.*")
_GREP_MORE = re.compile(r"--open-.*|-[A-Za-z0-9]*O.*")
_READS = names(
    "status log diff show blame annotate ls-files ls-tree rev-parse rev-list describe shortlog name-rev"
    " merge-base for-each-ref show-ref count-objects check-ignore diff-tree diff-index diff-files range-diff"
    " cherry whatchanged grep cat-file check-attr version"
)
_LISTS = {  # subcommands that only read with nothing but these arguments
    "branch": re.compile(
        r"-a|-r|-v+|--all|--remotes|--verbose|--list|--show-current|--(?:no-)?merged|--sort=.*"
    ),
    "tag": re.compile(r"-l|--list|-n\d*|--sort=.*"),
    "remote": re.compile(r"-v|--verbose"),
    "stash": re.compile(r"list"),
    "worktree": re.compile(r"list|--porcelain"),
    "reflog": re.compile(r"show|HEAD|-n|\d+|-\d+"),
    "config": re.compile(r"--get|--list|-l|--get-all|[a-z]+\.[\w.]+"),
    "help": re.compile(r"[a-z][a-z-]*"),
}
_REMOTE = frozenset({"push", "fetch", "pull", "clone", "ls-remote", "submodule", "remote", "archive"})
_SENDS_OUT = frozenset({"push", "send-pack", "http-push", "send-email", "request-pull"})
_CHANGES = frozenset({"checkout", "restore", "rm", "mv", "clean", "apply", "stash", "reset", "config"})
_MAKES = frozenset({"worktree", "clone", "init", "bundle"})  # what their arguments name
_UNPACKS = frozenset({"apply", "am"})
_OUTPUTS = ("-o", "--output", "--output-directory", "--directory", "--separate-git-dir")


def of_git(arguments: Sequence[str]) -> Act:
    """What `git` does with these arguments."""
    _, *rest = git_words(["git", *arguments])
    before = list(arguments[: len(arguments) - len(rest)])
    trees = values(before, ["-C"])[-1:] or ["."]
    subcommand, after = (rest[0], rest[1:]) if rest else ("version", [])
    paths = [part for word in after if not word.startswith("-") for part in word.split(":")]
    odd = _odd(before)
    if not odd and (not rest or _is_read(subcommand, after)):
        if subcommand in {"help", "version"}:
            return Act()
        return with_paths(Act(at=tuple(trees)), reads=[*trees, *paths, *in_options(after)])
    always = f"git {shown(odd)} may start any program" if odd else _always(subcommand, after)
    act = Act(why=f"git {shown(subcommand)} changes something", always=always, at=tuple(trees))
    act = replace(act, sends=subcommand in _REMOTE, is_local=subcommand not in _REMOTE)
    writes = [*values(after, _OUTPUTS), *_made(subcommand, after, paths)]
    carries = paths if subcommand in {"mv", "rm"} else ()
    return with_paths(act, writes=writes, carries=carries, reads=trees)


def _odd(before: Sequence[str]) -> str:
    """The first option before the subcommand that may change what git starts or where it looks."""
    left = list(before)
    while left:
        word = left.pop(0)
        value = left.pop(0) if word in {"-C", "-c"} and left else ""
        if word != "-C" and not _QUIET.fullmatch(value if word == "-c" else word):
            return f"{word} {value}".strip()
    return ""


def _made(subcommand: str, after: Sequence[str], paths: Sequence[str]) -> Sequence[str]:
    if subcommand in _MAKES:
        return [word for word in after if not re.match(r"-|\w+@|.*://|\w+::", word)]
    return paths if subcommand in _CHANGES else ()


def _is_read(subcommand: str, arguments: Sequence[str]) -> bool:
    """True when this use of git changes nothing and runs no program that its arguments name."""
    if subcommand == "config" and not {"--get", "--list", "-l", "--get-all"} & set(arguments):
        return False
    if subcommand == "stash" and not arguments:
        return False
    if subcommand in _LISTS:
        return all(map(_LISTS[subcommand].fullmatch, arguments))
    more = _GREP_MORE if subcommand == "grep" else _MORE
    return subcommand in _READS and not any(map(more.fullmatch, arguments))


def _always(subcommand: str, arguments: Sequence[str]) -> str:
    if subcommand in _SENDS_OUT:
        return f"git {subcommand} sends work out"
    if subcommand in _UNPACKS:
        return "it writes files that only the patch names"
    if subcommand == "config":
        return "it changes what git starts, for everybody who uses this repository"
    deletes = any(re.fullmatch(r"-[a-zA-Z]*[dDmM][a-zA-Z]*|--(?:del|mov|std).*", word) for word in arguments)
    return "deletes a branch" if deletes and subcommand in {"branch", "update-ref", "symbolic-ref"} else ""
