"""No conflict is ever resolved silently: each kind is named with its files, and nothing has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.merging import BRANCH, merge
from workspace.merge_queue import ChecksRed, Conflict, Held, Merged, Unproven

if TYPE_CHECKING:
    from tests.support.repository import Repository
    from workspace.merge_queue import MergeQueue

TEXT = "".join(f"line {number}\n" for number in range(20))
OURS, THEIRS = TEXT.replace("line 3\n", "ours\n"), TEXT.replace("line 3\n", "theirs\n")
BINARY = "\0\1\2"
FILES = {"text": TEXT, "data": BINARY}
EXECUTABLE, LINK = {"mode": "100755"}, {"mode": "120000"}

# ours, theirs: changed files, and how they are committed
KINDS: dict[str, tuple[tuple[dict[str, str | None], dict[str, Any]], ...]] = {
    "contents": (({"text": OURS}, {}), ({"text": THEIRS}, {})),
    "modify/delete": (({"text": OURS}, {}), ({"text": None}, {})),
    "rename/delete": (({"text": None, "moved": OURS}, {}), ({"text": None}, {})),
    "rename/rename": (({"text": None, "here": TEXT}, {}), ({"text": None, "there": TEXT}, {})),
    "binary": (({"data": BINARY + "ours"}, {}), ({"data": BINARY + "theirs"}, {})),
    "add/add": (({"new": "ours\n"}, {}), ({"new": "theirs\n"}, {})),
    "distinct modes": (({"text": OURS}, EXECUTABLE), ({"text": "data"}, LINK)),
    "file/directory": (({"new": "ours\n"}, {}), ({"new/inner": "theirs\n"}, {})),
}


def tip(repository: Repository) -> str:
    return repository.git("rev-parse", BRANCH)


@pytest.fixture
def base(repository: Repository) -> str:
    return repository.commit(FILES, parent=repository.head())


@pytest.mark.parametrize(("kind", "sides"), KINDS.items(), ids=KINDS)
@pytest.mark.parametrize("order", [1, -1], ids=["", "the other way round"])
def test_every_kind_of_conflict_is_named_and_changes_nothing(
    repository: Repository,
    queue: MergeQueue,
    base: str,
    kind: str,
    sides: tuple[tuple[dict[str, str | None], dict[str, Any]], ...],
    order: int,
) -> None:
    ours, theirs = (repository.commit(files, parent=base, **how) for files, how in sides[::order])
    assert isinstance(merge(queue, ours), Merged)
    before = tip(repository)
    outcome = merge(queue, theirs)
    assert isinstance(outcome, Conflict)
    assert kind in {"add/add", *outcome.kinds}  # git calls the former one of contents
    assert set(outcome.files) & {"text", "moved", "here", "data", "new"}
    assert outcome.ours_says
    assert outcome.theirs_says
    assert tip(repository) == before


def test_the_mode_of_one_side_and_the_text_of_the_other_are_both_on_the_branch(
    repository: Repository, queue: MergeQueue, base: str
) -> None:
    merge(queue, repository.commit({"text": TEXT}, parent=base, mode="100755"))
    assert isinstance(merge(queue, repository.commit({"text": OURS}, parent=base)), Merged)
    assert repository.git("ls-tree", BRANCH, "text").startswith("100755")
    assert repository.git("show", f"{BRANCH}:text") == OURS.strip()


def test_work_that_no_longer_builds_on_the_newest_state_is_not_merged(
    repository: Repository, queue: MergeQueue
) -> None:
    # Green on its own: the other side renamed the function meanwhile, in another file.
    check = "python3 -c 'import use'"
    base = repository.commit({"lib.py": "def old(): pass\n", "use.py": ""}, parent=repository.head())
    merge(queue, repository.commit({"lib.py": "def new(): pass\n"}, parent=base), check)
    before = tip(repository)
    outcome = merge(queue, repository.commit({"use.py": "from lib import old\n"}, parent=base), check)
    assert isinstance(outcome, ChecksRed)
    assert "ImportError" in outcome.results[0].output
    assert tip(repository) == before


def test_a_merge_that_is_not_proven_is_refused(repository: Repository, queue: MergeQueue) -> None:
    merge(queue, repository.commit({"ReadMe": "1"}, parent=repository.head()))
    before = tip(repository)
    outcome = merge(queue, repository.commit({"README": "2"}, parent=repository.head()))
    assert isinstance(outcome, Unproven)
    assert "the same file" in outcome.faults[0]
    assert tip(repository) == before


def test_work_that_has_nothing_in_common_with_the_branch_is_held(
    repository: Repository, queue: MergeQueue
) -> None:
    tree = repository.git("rev-parse", "HEAD^{tree}")
    alien = repository.git("commit-tree", tree, "-m", "From nowhere")
    outcome = merge(queue, alien)
    assert outcome == Held(why=f"commit {alien:.10} has no commit in common with {BRANCH}; merge it by hand")
