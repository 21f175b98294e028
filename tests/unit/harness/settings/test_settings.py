from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from harness.settings.settings import Settings, load_settings, reference, settings_from
from harness.settings.sources import (
    PersonalSetting,
    SettingInvalid,
    SettingMisread,
    SettingsFault,
    SettingsUnreadable,
    UnknownSetting,
)

PROJECT = Path(__file__).resolve().parents[4]


def load(root: Path, flags: dict[str, object] | None = None, **environ: str) -> Settings:
    return load_settings(root, flags, environ, personal_file=root / "personal.yaml")


def test_without_any_source_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.bash_timeout_seconds, settings.max_workers, settings.model_id) == (120, 8, None)
    assert settings.checks == {}


def test_the_strongest_source_decides(tmp_path: Path) -> None:
    (tmp_path / "leadhand.yaml").write_text("model: {id: repository}\n")
    assert load(tmp_path).model_id == "repository"
    (tmp_path / "personal.yaml").write_text("model.id: person\n")
    assert load(tmp_path).model_id == "person"
    (tmp_path / ".env").write_text("MODEL_ID=dotenv\n")
    assert load(tmp_path).model_id == "dotenv"
    assert load(tmp_path, MODEL_ID="environment").model_id == "environment"
    assert load(tmp_path, {"model.id": "flag"}, MODEL_ID="environment").model_id == "flag"


def test_an_empty_variable_and_a_flag_not_given_decide_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MODEL_ID=dotenv\n")
    assert load(tmp_path, {"model.id": None}, MODEL_ID="").model_id == "dotenv"


def test_a_dotenv_file_is_read_as_shells_write_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# keys\nexport ANTHROPIC_API_KEY='sk 1'\nMODEL_ID = \"m\" # mine\nOTHER=x\nnonsense\n"
        "ANTHROPIC_BASE_URL=http://localhost # local\n"
    )
    settings = load(tmp_path)
    assert (settings.api_key, settings.model_id, settings.base_url) == ("sk 1", "m", "http://localhost")


def test_every_setting_has_a_variable(tmp_path: Path) -> None:
    settings = load(
        tmp_path, LEADHAND_TOOL_BASH_TIMEOUT_SECONDS="7", LEADHAND_ENV_PASS="CARGO_HOME, NPM_TOKEN"
    )
    assert settings.bash_timeout_seconds == 7
    assert settings.environment_pass == ("CARGO_HOME", "NPM_TOKEN")


def test_checks_are_names_with_commands(tmp_path: Path) -> None:
    (tmp_path / "leadhand.yaml").write_text("checks:\n  tests.unit: pytest -q\n  lint: ruff check\n")
    assert load(tmp_path).checks == {"tests.unit": "pytest -q", "lint": "ruff check"}


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("max_workrs: 3\n", UnknownSetting, "leadhand.yaml: there is no setting max_workrs"),
        ("workers: {numbers: 3}\n", UnknownSetting, "did you mean workers.number?"),
        ("limits: {x: 1}\n", UnknownSetting, "in limits there are limits.member.max_minutes, "),
        ("colour: blue\n", UnknownSetting, "docs/settings.md lists them all"),
        ("workers: {max: 0}\n", SettingInvalid, "workers.max must be a whole number from 1 to 256, not 0"),
        ("workers: {max: true}\n", SettingInvalid, "not true"),
        ("workers: {max: many}\n", SettingInvalid, 'not "many"'),
        ("workers: {max: 2.5}\n", SettingInvalid, "not 2.5"),
        ("lease: {ttl_seconds: .nan}\n", SettingInvalid, "a number above 0"),
        ("plan_reviewer: nobody\n", SettingInvalid, "one of lead, person"),
        ("checks: pytest\n", SettingInvalid, "a mapping of names to commands"),
        ("checks: {tests: 3}\n", SettingInvalid, "a mapping of names to commands"),
        ("permissions: {deny: ['bash(']}\n", SettingMisread, "'bash(' is no permission rule"),
        ("permissions: {deny: [bsh]}\n", SettingMisread, "did you mean bash?"),
        ("permissions: {deny: bash: x}\n", SettingsUnreadable, "leadhand.yaml: line 1"),
        ("prices: {m: 1}\n", SettingInvalid, "prices must be a list"),
        ("hooks: {Stop: 5}\n", SettingMisread, "leadhand.yaml: hooks: Stop: must be a list"),
        ("- a\n", SettingsUnreadable, "no mapping"),
        ("model: {api_key: sk}\n", PersonalSetting, "may not be set by a file of the repository"),
        ("model: {base_url: 'http://evil'}\n", PersonalSetting, "personal.yaml"),
        ("permissions: {allow: [bash]}\n", PersonalSetting, "permissions.allow"),
        ("env: {pass: [AWS_SECRET]}\n", PersonalSetting, "env.pass"),
    ],
)
def test_a_bad_file_is_refused_with_file_and_name(
    tmp_path: Path, text: str, error: type[SettingsFault], says: str
) -> None:
    (tmp_path / "leadhand.yaml").write_text(text)
    with pytest.raises(error) as caught:
        load(tmp_path)
    assert str(caught.value).startswith("leadhand.yaml: ")
    assert says in str(caught.value)


def test_a_bad_variable_is_named_as_the_person_wrote_it(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="environment: LEADHAND_WORKERS_MAX must be"):
        load(tmp_path, LEADHAND_WORKERS_MAX="none")


@pytest.mark.parametrize("line", ["MODEL_ID: m", "export MODEL_ID m", "  MODEL_ID m"])
def test_a_line_that_sets_one_of_our_variables_in_another_form_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"OTHER: x\n# MODEL_ID: m\nMODEL_ID\n{line}\n")
    with pytest.raises(SettingsUnreadable, match="line 4 is no line of such a file; write MODEL_ID=…"):
        load(tmp_path)


def test_a_setting_below_another_is_one_of_its_own(tmp_path: Path) -> None:
    flags = {"guard": "true", "guard.trusted_servers": ["docs"]}
    assert load_settings(tmp_path, flags, {}).trusted_servers == ("docs",)


@pytest.mark.parametrize(
    "address", ["notaurl", "localhost:8080", "http://", "ftp://a", "http://[::1", "http://a:b"]
)
def test_an_address_that_nothing_can_be_asked_at_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(
        SettingInvalid, match="ANTHROPIC_BASE_URL must be an address such as https://host:port"
    ):
        load(tmp_path, ANTHROPIC_BASE_URL=address)
    assert load(tmp_path, ANTHROPIC_BASE_URL="http://[::1]:8080/v1").base_url == "http://[::1]:8080/v1"


def test_the_person_may_set_what_a_repository_may_not(tmp_path: Path) -> None:
    (tmp_path / "personal.yaml").write_text(
        "permissions: {allow: ['bash(git push *)']}\nmodel: {api_key: sk}\n"
    )
    settings = load(tmp_path)
    assert (settings.allow, settings.api_key) == (("bash(git push *)",), "sk")


def test_rules_count_from_every_source(tmp_path: Path) -> None:
    (tmp_path / "leadhand.yaml").write_text("permissions: {deny: ['bash(git push *)', grep]}\n")
    (tmp_path / "personal.yaml").write_text("permissions: {deny: [grep, glob]}\n")
    assert load(tmp_path).deny == ("grep", "glob", "bash(git push *)")
    given = load(tmp_path, {"permissions.allow": ["bash(npm *)"]}, LEADHAND_PERMISSIONS_ALLOW="bash(make *)")
    assert given.allow == ("bash(npm *)", "bash(make *)")


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    settings = load(tmp_path, ANTHROPIC_API_KEY="sk-secret", ANTHROPIC_AUTH_TOKEN="sk-secret")
    assert "sk-secret" not in repr(settings)
    with pytest.raises(SettingInvalid) as caught:
        load(tmp_path, {"model.api_key": 12345})
    assert "12345" not in str(caught.value)


def test_settings_of_every_kind_go_to_another_process_and_are_the_same_there(tmp_path: Path) -> None:
    (tmp_path / "leadhand.yaml").write_text(
        "checks: {tests: pytest -q}\nworkers: {max: 2}\nlease: {ttl_seconds: 7.5}\n"
        "worktrees: {setup: ['a b', c], wrong_checkout: ignore}\nprices: [model 1 2]\n"
        "permissions: {deny: ['bash(git push *)'], ask: [grep]}\n"
        "hooks: {PreToolUse: [{matcher: bash, hooks: [{type: command, command: ./guard.sh, timeout: 5}]}]}\n"
        "mcp.values: {docs/search.kind: [a, 1, true]}\n"
    )
    (tmp_path / "personal.yaml").write_text("guard: false\nmcp.variables: {TOKEN: t}\n")
    settings = load(tmp_path, {"permissions.allow": ["bash(npm *)"]}, ANTHROPIC_API_KEY="sk")
    assert settings_from(json.loads(json.dumps(settings.to_json()))) == settings
    assert settings_from({}) == Settings()


def test_settings_of_a_lead_of_another_version_are_refused() -> None:
    with pytest.raises(UnknownSetting, match=r"the lead: there is no setting of\.tomorrow"):
        settings_from({"of.tomorrow": 1})


def test_the_reference_page_is_the_one_in_docs() -> None:
    assert (PROJECT / "docs" / "settings.md").read_text(encoding="utf-8") == reference()


def test_the_example_names_variables_that_exist() -> None:
    lines = (PROJECT / ".env.example").read_text(encoding="utf-8").splitlines()
    variables = [line.lstrip("# ").partition("=")[0] for line in lines if "=" in line]
    assert {"MODEL_ID", "ANTHROPIC_API_KEY"} <= set(variables)
    assert not [name for name in variables if f"`{name}`" not in reference()]


def test_a_secret_is_in_no_text_that_shows_settings() -> None:
    hidden = {of.name for of in fields(Settings) if not of.repr}
    assert hidden == {"api_key", "auth_token", "mcp_variables"}
    assert "k-123" not in repr(Settings(api_key="k-123", mcp_variables={"T": "k-123"}))
