"""Files of a repository that decide what runs or is allowed on this machine or in its CI."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_DECIDING = re.compile(
    r"(leadhand\.ya?ml|\.mcp\.json|\.worktreeinclude|\.gitmodules"  # what the host reads
    r"|\.agents/roles/.*|\.claude/agents/.*"  # what members are told, and with which tools
    r"|(.*/)?\.gitattributes"  # filters and merge drivers
    r"|\.github/(workflows|actions)/.*|\.gitlab-ci\.yml|\.circleci/.*|\.travis\.yml|Jenkinsfile"
    r"|azure-pipelines\.yml|\.buildkite/.*|\.drone\.yml|bitbucket-pipelines\.yml"  # CI
    r"|\.husky/.*|\.pre-commit-config\.yaml|lefthook\.yml)",  # hooks of the person's git
    re.IGNORECASE,
)


def deciding(files: Iterable[str]) -> list[str]:
    """Those of the files that a person has to look at before they come back from a team."""
    return [file for file in files if _DECIDING.fullmatch(file)]
