"""No credential goes into a record, and ordinary text stays as it is."""

from __future__ import annotations

import pytest

from harness.memory.credentials import credentials_in, redacted

KEYS = [  # in two parts, so that no scanner takes this file for a leak
    "sk-" + "ant-api03-abcdefghijklmnop",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ghp_" + "abcdefghijklmnopqrstuvwxyz0123",
    "github_pat_" + "11ABCDEFG0123456789_abc",
    "glpat-" + "abcdefghij0123456789",
    "xoxb-" + "1234567890-abcdef",
    "AIza" + "SyA1234567890abcdefghijklmnopqrstu",
    "sk_live_" + "abcdefghijklmnop",
    "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "hf_" + "abcdefghijklmnopqrstuvwxyz",
    "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0" + ".sig-nature",
]


@pytest.mark.parametrize("key", KEYS)
def test_the_forms_of_issuers_are_known(key: str) -> None:
    text = f"Use {key} for it."
    assert credentials_in(text)
    assert redacted(text) == "Use [redacted] for it."


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("password: hunter2hunter2", "password: [redacted]"),
        ("DB_PASSWORD=s3cretvalue!", "DB_PASSWORD=[redacted]"),
        ('api_key = "abcdefghij"', 'api_key = "[redacted]"'),
        ("the admin password is hunter2hunter2", "the admin password is [redacted]"),
        ("postgres://me:pa55word@host/db", "postgres://[redacted]@host/db"),
        ("Authorization: Bearer abcdef0123456789ABCDEF", "Authorization: Bearer [redacted]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- end", "[redacted] end"),
        ("-----BEGIN PRIVATE KEY-----\ncut off", "[redacted]"),
    ],
)
def test_a_value_with_a_telling_name_goes_and_the_name_stays(text: str, rest: str) -> None:
    assert redacted(text) == rest
    assert credentials_in(text)
    assert not credentials_in(rest)


@pytest.mark.parametrize(
    "text",
    [
        "The token is read from the environment variable DEPLOY_TOKEN.",
        "password: see the vault of the team",
        "Commit 8e2b3605c7a1f7a19983 broke the parser; token counts went up.",
        "https://example.org/path?page=2",
        "max_tokens: 8000",
    ],
)
def test_words_about_credentials_are_none(text: str) -> None:
    assert redacted(text) == text
    assert credentials_in(text) == []


def test_known_values_go_wherever_they_stand() -> None:
    assert redacted("it is plain-words here", ["plain-words"]) == "it is [redacted] here"
