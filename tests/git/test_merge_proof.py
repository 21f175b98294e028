"""A merge commit is what its two sides lead to, and nothing else, or it is not proven."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from workspace.merge_proof import common_state, unproven
from workspace.merging import combine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.repository import Repository
    from workspace.git import Git

    Files = Mapping[str, str | None]

TEXT = "".join(f"line {number}\n" for number in range(1, 31))
EXECUTABLE, LINK = "100755", "120000"


def edited(**lines: str) -> str:
    """TEXT with other lines: `l3="x"` for the third."""
    new = {int(key[1:]): text for key, text in lines.items()}
    return "".join(f"{new.get(number, f'line {number}')}\n" for number in range(1, 31))


@pytest.fixture
def base(repository: Repository) -> str:
    files = {"a.txt": TEXT, "b.txt": TEXT.replace("line", "row"), "c.txt": "c\n", "data": "0\n"}
    return repository.commit(files, parent=repository.head())


def merged(git: Git, ours: str, theirs: str) -> str:
    found = combine(git, ours, theirs, "Merge")
    assert isinstance(found, str)
    return found


class Both:
    """Two sides of one base, and their merge by git."""

    def __init__(self, git: Git, repository: Repository, base: str, ours: Files, theirs: Files) -> None:
        self._git, self._repository = git, repository
        self.ours = repository.commit(ours, parent=base)
        self.theirs = repository.commit(theirs, parent=base)
        self.merged = merged(git, self.ours, self.theirs)

    def faults(self) -> tuple[str, ...]:
        return unproven(self._git, self.ours, self.theirs, self.merged)

    def faults_with(self, files: Files, mode: str = "100644") -> tuple[str, ...]:
        """The same for a merge in which these files are other than git made them."""
        evil = self._repository.commit(files, parent=self.merged, mode=mode)
        return unproven(self._git, self.ours, self.theirs, evil)


RENAMED: Files = {"a.txt": None, "moved/a.txt": TEXT}
CLEAN: dict[str, tuple[Files, Files]] = {
    "different files": ({"a.txt": edited(l3="x")}, {"b.txt": "b\n"}),
    "one file at two places": ({"a.txt": edited(l3="x")}, {"a.txt": edited(l20="y", l21="z")}),
    "the same change twice": ({"a.txt": edited(l3="x")}, {"a.txt": edited(l3="x", l20="y")}),
    "new and deleted files": ({"new": "n\n", "c.txt": None}, {"b.txt": None, "other": "o\n"}),
    "the same new file": ({"new": "n\n"}, {"new": "n\n"}),
    "both delete": ({"c.txt": None}, {"c.txt": None, "a.txt": edited(l9="x")}),
    "one renames, the other edits": (RENAMED, {"a.txt": edited(l20="y")}),
    "both rename alike, one edits": (RENAMED, {"a.txt": None, "moved/a.txt": edited(l20="y")}),
    "one renames, both edit": ({"a.txt": None, "z.txt": edited(l3="x")}, {"a.txt": edited(l20="y")}),
    "no end of line": ({"data": "0"}, {"a.txt": edited(l30="last")}),
    "a file becomes empty": ({"c.txt": ""}, {"a.txt": edited(l1="x")}),
    "odd names": ({"größe 1.txt": "1\n"}, {"a b\tc\n.txt": "2\n"}),
}


@pytest.mark.parametrize("sides", CLEAN.values(), ids=CLEAN)
def test_what_git_merges_cleanly_is_proven(
    git: Git, repository: Repository, base: str, sides: tuple[Files, Files]
) -> None:
    assert Both(git, repository, base, *sides).faults() == ()
    assert Both(git, repository, base, *reversed(sides)).faults() == ()


def test_a_lost_paragraph_of_either_side_is_named(git: Git, repository: Repository, base: str) -> None:
    both = Both(git, repository, base, {"a.txt": edited(l3="ours")}, {"a.txt": edited(l20="theirs")})
    for lost, side in (("ours", edited(l20="theirs")), ("theirs", edited(l3="ours"))):
        (fault,) = both.faults_with({"a.txt": side})
        assert fault == f"a.txt does not hold every change of both sides, for example: {lost}"


def test_lines_in_another_order_are_not_proven(git: Git, repository: Repository, base: str) -> None:
    both = Both(git, repository, base, {"a.txt": edited(l3="ours")}, {"a.txt": edited(l20="theirs")})
    assert both.faults_with({"a.txt": edited(l3="theirs", l20="ours")})


def test_a_deletion_that_came_back_is_not_proven(git: Git, repository: Repository, base: str) -> None:
    both = Both(git, repository, base, {"c.txt": None}, {"a.txt": edited(l1="x"), "b.txt": None})
    assert both.faults_with({"c.txt": "c\n"}) == ("c.txt is not what the branch made of it",)
    back = both.faults_with({"b.txt": TEXT.replace("line", "row")})
    assert back == ("b.txt is not what the work made of it",)


def test_a_file_of_one_side_that_is_missing_or_other_is_named(
    git: Git, repository: Repository, base: str
) -> None:
    both = Both(git, repository, base, {"new": "n\n"}, {"b.txt": "b\n"})
    assert both.faults_with({"new": None}) == ("new is not what the branch made of it",)
    assert both.faults_with({"b.txt": "other\n"}) == ("b.txt is not what the work made of it",)


def test_a_change_of_neither_side_is_named(git: Git, repository: Repository, base: str) -> None:
    both = Both(git, repository, base, {"a.txt": edited(l3="x")}, {"b.txt": "b\n"})
    assert both.faults_with({"c.txt": "evil\n", "more": ""}) == (
        "c.txt is changed although neither side changed it",
        "more is changed although neither side changed it",
    )


def test_a_renamed_file_that_lost_the_others_edit_is_named(
    git: Git, repository: Repository, base: str
) -> None:
    both = Both(git, repository, base, RENAMED, {"a.txt": edited(l20="y")})
    assert both.faults_with({"moved/a.txt": TEXT}) == ("moved/a.txt is not what one side made of it",)
    assert both.faults_with({"moved/a.txt": None}) == ("moved/a.txt is missing",)
    stays = Both(git, repository, base, RENAMED, {"c.txt": "d\n"}).faults_with({"a.txt": TEXT})
    assert stays == ("a.txt is there although it was renamed to moved/a.txt",)


def test_a_mode_of_one_side_has_to_arrive(git: Git, repository: Repository, base: str) -> None:
    ours = repository.commit({"a.txt": TEXT}, parent=base, mode=EXECUTABLE)
    theirs = repository.commit({"a.txt": edited(l20="y")}, parent=base)
    whole = merged(git, ours, theirs)
    assert unproven(git, ours, theirs, whole) == ()
    lost = repository.commit({"a.txt": edited(l20="y")}, parent=whole)
    assert unproven(git, ours, theirs, lost) == (
        "a.txt has the mode 100644, which its two sides do not lead to",
    )


def test_a_link_that_one_side_made_of_a_file_is_proven(git: Git, repository: Repository, base: str) -> None:
    ours = repository.commit({"c.txt": "a.txt"}, parent=base, mode=LINK)
    theirs = repository.commit({"a.txt": edited(l20="y")}, parent=base)
    assert unproven(git, ours, theirs, merged(git, ours, theirs)) == ()


def test_a_union_merge_keeps_the_lines_of_both_in_their_order(
    git: Git, repository: Repository, base: str
) -> None:
    repository.write({".gitattributes": "data merge=union\n"})
    repository.remember()
    both = Both(git, repository, base, {"data": "0\n1\n2\n"}, {"data": "0\n3\n4\n"})
    assert both.faults() == ()
    (fault,) = both.faults_with({"data": "0\n1\n2\n3\n"})
    assert fault.endswith("for example: 4")


def test_new_names_of_two_sides_that_are_one_file_elsewhere_are_refused(
    git: Git, repository: Repository, base: str
) -> None:
    both = Both(git, repository, base, {"ReadMe": "1\n"}, {"README": "2\n"})
    assert both.faults() == ("ReadMe and README are the same file on systems that ignore case; rename one",)
    accents = Both(git, repository, base, {"u\u0308.txt": "1\n"}, {"ü.txt": "2\n"})
    assert "the same file" in accents.faults()[0]


def test_names_that_collide_on_one_side_alone_are_the_persons_own(
    git: Git, repository: Repository, base: str
) -> None:
    assert Both(git, repository, base, {"X": "", "x": ""}, {"a.txt": ""}).faults() == ()


def test_sides_with_two_common_commits_are_compared_with_both(
    git: Git, repository: Repository, base: str
) -> None:
    one = repository.commit({"a.txt": edited(l3="one")}, parent=base)
    two = repository.commit({"a.txt": edited(l20="two")}, parent=base)
    ours = repository.commit({"c.txt": "x\n"}, parent=merged(git, one, two))
    theirs = repository.commit({"a.txt": edited(l3="one, better", l20="two")}, parent=merged(git, two, one))
    assert len(repository.git("merge-base", "--all", ours, theirs).split()) == 2
    assert unproven(git, ours, theirs, merged(git, ours, theirs)) == ()
    tree = repository.git("rev-parse", f"{common_state(git, ours, theirs)}^{{tree}}")
    assert tree == repository.git("rev-parse", f"{merged(git, one, two)}^{{tree}}")


def test_settings_of_the_person_that_change_how_git_shows_differences_change_no_proof(
    git: Git, repository: Repository, base: str
) -> None:
    for key, value in (("diff.interHunkContext", "9"), ("color.ui", "always"), ("diff.algorithm", "minimal")):
        repository.git("config", key, value)
    repository.remember()
    test_a_lost_paragraph_of_either_side_is_named(git, repository, base)
