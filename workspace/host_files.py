"""Files of a repository that decide what runs or is allowed on this machine or in its CI."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_SKILL = "SKILL.md"
_DECIDING = re.compile(
    r"(leadhand\.ya?ml|\.mcp\.json|\.worktreeinclude|\.gitmodules|\.env"  # what the host reads
    r"|(.*/)?(AGENTS|CLAUDE)(\.\w+)?\.md|\.(agents|claude)/.*|(.*/)?SKILL\.md"  # and agents follow
    r"|(.*/)?\.gitattributes"  # filters and merge drivers
    r"|\.github/(workflows|actions)/.*|\.gitlab-ci\.yml|\.circleci/.*|\.travis\.yml|Jenkinsfile"
    r"|azure-pipelines\.yml|\.buildkite/.*|\.drone\.yml|bitbucket-pipelines\.yml"  # CI
    r"|\.husky/.*|\.pre-commit-config\.yaml|lefthook\.yml)",  # hooks of the person's git
    re.IGNORECASE,
)


def deciding(files: Iterable[str], trusted: Collection[str] = ()) -> list[str]:
    """Those of the files that a person has to look at before they come back from a team.

    `trusted` are further names: the files that the present run has from the repository. What lies beside
    a skill belongs to it.
    """
    skills = tuple(name.removesuffix(_SKILL) for name in trusted if name.endswith(f"/{_SKILL}"))
    return [file for file in files if file in trusted or file.startswith(skills) or _DECIDING.fullmatch(file)]
