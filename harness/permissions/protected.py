"""Pure: which paths belong to git, the team, its policy or its secrets."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase, translate

GIT = ".git"  # at any depth: its configuration and hooks start programs
TEAM_STATE = frozenset({".team", ".tasks", "mailboxes", ".worktrees", ".memory"})  # at the top
POLICY = frozenset({"leadhand.yaml", ".mcp.json"})  # at the top: people only write them; reading is free
ROLES = ((".agents", "roles"), (".claude", "agents"))  # directories at the top, likewise
SECRETS = (  # at any depth, by name: what holds credentials
    *(".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.keystore", "*.jks"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", ".pypirc", ".npmrc", ".git-credentials"),
)
GUIDES = ("AGENTS.md", "CLAUDE.md")  # what agents are told; in a prompt those at the top, in this order
NO_SECRETS = (".env.example", ".env.sample", ".env.template", "*.pub")


_GUIDE = re.compile(r"(AGENTS|CLAUDE)(\.\w+)?\.md|SKILL\.md", re.IGNORECASE)
_SECRET = re.compile("|".join(map(translate, SECRETS)))
_NO_SECRET = re.compile("|".join(map(translate, NO_SECRETS)))
_EXAMPLES = (".env", ".netrc", ".npmrc", ".pypirc", ".git-credentials", "id_rsa", "id_ed25519")


def is_secret(path: str) -> bool:
    """True for a file whose name says that it holds credentials, or a pattern that such a name fits."""
    name = path.rpartition("/")[2].casefold()
    if _NO_SECRET.fullmatch(name):
        return False
    if set("*?[") & set(name) and any(fnmatchcase(example, name) for example in _EXAMPLES):
        return True
    return _SECRET.fullmatch(name) is not None


def is_guide(path: str) -> bool:
    """True for a file whose name says that agents are told what stands in it."""
    return _GUIDE.fullmatch(path.rpartition("/")[2]) is not None


def is_state(relative: str) -> bool:
    """True for what file tools neither read nor write: git's and the team's own, below its directory."""
    parts = _parts(relative)
    return GIT in parts or (bool(parts) and parts[0] in TEAM_STATE)


def is_protected(relative: str) -> bool:
    """True for what no tool writes: as `is_state`, the policy, and the roles."""
    parts = _parts(relative)
    return is_state(relative) or (bool(parts) and (parts[0] in POLICY or tuple(parts[:2]) in ROLES))


def _parts(relative: str) -> list[str]:
    """The names in the path; some file systems do not tell .GIT from .git."""
    return [part for part in relative.casefold().split("/") if part not in {"", "."}]
