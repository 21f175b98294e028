"""Nothing that a repository brings along is ever run by the host's git."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.merging import merge
from tests.support.repository import Repository
from workspace.merge_queue import Merged

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.git import Git
    from workspace.merge_queue import MergeQueue
    from workspace.worktrees import Worktrees

HOOKS = (
    "post-checkout",
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-merge",
    "post-index-change",
    "pre-merge-commit",
    "reference-transaction",
)


@pytest.fixture
def alarm(repository: Repository, tmp_path: Path) -> Path:
    """A file that appears as soon as a program named by the repository has run."""
    alarm = tmp_path / "alarm"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {alarm}\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    repository.write({".gitattributes": "*.txt filter=f\n*.bin filter=p\n*.md merge=m diff=d\n"})
    repository.write({"a.txt": "one\n", "b.md": "one\n2\n3\n4\ntwo\n", "c.bin": "x"})
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "Attributes")
    for key in (
        *("filter.f.clean", "filter.f.smudge", "filter.p.process", "merge.m.driver", "diff.d.command"),
        *("diff.d.textconv", "diff.external", "core.fsmonitor", "core.editor", "gpg.program", "core.pager"),
        *("alias.add", "hook.h.command", "trailer.leadhand-task.command", "filter.lfs.clean"),
    ):
        repository.git("config", key, str(program))
    for key, value in (
        *(("filter.f.required", "true"), ("commit.gpgSign", "true"), ("log.showSignature", "true")),
        *(("hook.h.event", "pre-commit"), ("core.hooksPath", str(repository.path / ".git/hooks"))),
    ):
        repository.git("config", key, value)
    for hook in HOOKS:
        (repository.path / ".git/hooks" / hook).symlink_to(program)
    repository.remember()
    return alarm


def test_no_program_of_the_repository_runs_on_the_whole_way_of_a_task(
    alarm: Path, repository: Repository, trees: Worktrees, queue: MergeQueue, git: Git
) -> None:  # W3
    base = trees.newest("leadhand/run_1", repository.git("rev-parse", "HEAD"))
    beside = repository.commit({"b.md": "ONE\n2\n3\n4\ntwo\n", "new": ""}, parent=base)
    alarm.unlink(missing_ok=True)  # the person's own git did that
    path = trees.create("task-1", base=base)
    repository.write({"a.txt": "two\n", "b.md": "one\n2\n3\n4\nTWO\n", "c.bin": "y"}, at=path)
    commit = trees.snapshot(path, message="Change", member="alice", task="task_1")
    trees.diff_stat(base, commit)
    trees.keep("leadhand/task_1/3", commit)
    assert git.at(path).changed_since(base) == {"a.txt", "b.md", "c.bin"}
    for work in (commit, beside):  # the second needs the proof of a text that both sides changed
        assert isinstance(merge(queue, work), Merged)
    assert trees.newest("leadhand/run_1", base) != base
    assert not alarm.exists()


def test_no_program_of_a_repository_inside_a_tree_runs(
    repository: Repository, trees: Worktrees, git: Git, tmp_path: Path
) -> None:
    alarm, program = tmp_path / "alarm", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {alarm}\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    path = trees.create("task-1", base=trees.newest("leadhand/run_1", repository.git("rev-parse", "HEAD")))
    inner = Repository.create(path / "inner", {".gitattributes": "*.txt filter=f\n", "a.txt": "one\n"})
    for key in ("filter.f.clean", "core.fsmonitor", "diff.external", "core.editor"):
        inner.git("config", key, str(program))
    (path / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = .\n\tignore = none\n')
    for text in ("two\n", "six\n", "ten\n"):  # the first makes it a submodule; as long as what it replaces
        (path / "inner/a.txt").write_text(text, encoding="utf-8")
        trees.snapshot(path, message="Change", member="alice", task="task_1")
        git.at(path).changed_since("HEAD~1")
        git.at(path).uncommitted()
    assert not alarm.exists()
    inner.git("add", "a.txt")
    assert alarm.exists()  # a git that is not hardened runs it


def test_the_alarm_rings_for_a_git_that_is_not_hardened(alarm: Path, repository: Repository) -> None:
    alarm.unlink(missing_ok=True)
    repository.git("show-ref", "--head")
    repository.git("worktree", "add", "--quiet", "--detach", str(repository.path / ".worktrees/x"))
    assert alarm.exists()


def test_a_merge_driver_of_the_repository_gives_way_to_a_merge_of_texts(
    alarm: Path, repository: Repository, queue: MergeQueue
) -> None:
    base = repository.git("rev-parse", "HEAD")
    ours = repository.commit({"b.md": "ONE\ntwo\n"}, parent=base)
    theirs = repository.commit({"b.md": "uno\ntwo\n"}, parent=base)
    alarm.unlink(missing_ok=True)
    merge(queue, ours)
    outcome = merge(queue, theirs)
    assert getattr(outcome, "files", None) == ("b.md",)
    assert not alarm.exists()


def test_the_persons_own_lfs_filter_is_used_whatever_the_repository_says(
    repository: Repository, trees: Worktrees, tmp_path: Path
) -> None:
    repository.git("config", "--global", "filter.lfs.clean", "tr a-z A-Z")
    repository.git("config", "filter.lfs.clean", f"touch {tmp_path}/alarm; cat")
    repository.remember()
    path = trees.create("task-1", base=repository.head())
    repository.write({".gitattributes": "*.big filter=lfs\n", "x.big": "large"}, at=path)
    commit = trees.snapshot(path, message="Add", member="alice", task="task_1")
    assert repository.git("cat-file", "blob", f"{commit}:x.big") == "LARGE"
    assert not (tmp_path / "alarm").exists()
