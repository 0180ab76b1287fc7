"""Settings: which of several values is in force, and how a bad one is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bethink.errors import BadInput
from bethink.memory import NewFact
from bethink.settings import Settings, load_settings
from bethink.telemetry import configure, log
from tests.door import open_door

ROOT = Path(__file__).parents[2]
SECRET = "sk-never-to-be-seen"


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = ("BETHINK_", "COGNICAL_", "OPENAI_", "AZURE_", "DIAL_", "OPENROUTER_")
    for name in [name for name in os.environ if name.startswith(names)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.chdir(tmp_path)


def test_nothing_set_is_a_bethink_without_a_model_on_loopback(tmp_path: Path) -> None:
    settings = load_settings()
    assert (settings.model, settings.host, settings.port) == ("", "127.0.0.1", 8484)
    assert settings.data_dir == tmp_path / "share/bethink"
    clone = ROOT / ".models"
    assert settings.models == (clone if clone.is_dir() else settings.data_dir / "models")


@pytest.mark.requirement("R156")
@pytest.mark.requirement("R205", "R200")
def test_flag_beats_variable_beats_alias_beats_file_beats_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def limit(**flags: object) -> int:
        return load_settings(**flags).recall_limit

    assert limit() == 12
    (tmp_path / "bethink.toml").write_text("recall_limit = 6")
    assert limit() == 6
    monkeypatch.setenv("COGNICAL_MCP_MAX_CONTEXT", "7")
    assert limit() == 7
    monkeypatch.setenv("BETHINK_RECALL_LIMIT", "8")
    assert limit() == 8
    assert limit(recall_limit=9) == 9
    assert limit(recall_limit=None) == 8


@pytest.mark.requirement("R156", "R136")
@pytest.mark.parametrize(
    ("machine", "named", "zone"),
    [
        ("Europe/Berlin", None, "Europe/Berlin"),
        ("Europe/Berlin", "Asia/Tokyo", "Asia/Tokyo"),
        ("Etc/UTC", None, "UTC"),
        ("No/Where", None, "UTC"),
    ],
)
def test_the_time_zone_is_the_machines_unless_one_is_named(
    monkeypatch: pytest.MonkeyPatch, machine: str, named: str | None, zone: str
) -> None:
    monkeypatch.setenv("TZ", machine)
    monkeypatch.setattr("tzlocal.unix._cache_tz_name", None)
    assert Settings(time_zone=named or "").time_zone == zone


def test_every_variable_of_cognical_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COGNICAL_KB_PATH", str(tmp_path / "kb"))
    monkeypatch.setenv("COGNICAL_MCP_MAX_CONTEXT", "3")
    monkeypatch.setenv("COGNICAL_TOOLS_ENABLED", "false")
    monkeypatch.setenv("COGNICAL_TOOLS_TIMEOUT_MS", "2500")
    monkeypatch.setenv("COGNICAL_MEMORY_SEARCH_LIMIT", "12")
    monkeypatch.setenv("COGNICAL_MEMORY_ENABLE_GRAPH", "true")
    monkeypatch.setenv("COGNICAL_MCP_ENABLED", "false")
    settings = load_settings()
    assert (settings.graph_enabled, settings.memory_enabled) == (True, False)
    assert settings.data_dir == tmp_path / "kb"
    assert (settings.recall_limit, settings.tools_enabled) == (3, False)
    assert (settings.tool_timeout_s, settings.memory_search_limit) == (2.5, 12)


@pytest.mark.anyio
@pytest.mark.requirement("R156", "R176")
async def test_the_search_limit_holds_for_a_search_that_names_none() -> None:
    async with open_door(memory_search_limit=3) as door:
        facts = [NewFact(f"Likes plum number {number}") for number in range(9)]
        await door.house.app.memory.add_many(door.house.me, facts)
        default = await door.http.get("/recall", params={"query": "plum"})
        asked = await door.http.get("/recall", params={"query": "plum", "k": 5})
    assert (len(default.json()["items"]), len(asked.json()["items"])) == (3, 5)


@pytest.mark.requirement("R176", "R179", "R83", "C13", "R118", "U12")
def test_the_documented_limits_are_the_defaults() -> None:
    settings = Settings()
    assert (settings.recall_limit, settings.memory_search_limit, settings.tool_timeout_s) == (12, 10, 5)
    assert settings.code_timeout_s == 30
    vault = settings.vault
    assert (vault.max_file_bytes, vault.max_directory_bytes, vault.max_bytes) == (10**6, 10**7, 10**8)
    assert vault.agent_turns == 20


@pytest.mark.parametrize(
    ("variable", "setting"),
    [
        ("OPENAI_API_KEY", "openai_api_key"),
        ("AZURE_OPENAI_API_KEY", "azure_api_key"),
        ("DIAL_API_KEY", "dial_api_key"),
        ("OPENROUTER_API_KEY", "openrouter_api_key"),
    ],
)
def test_keys_that_people_have_set_already_are_used_and_never_shown(
    variable: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, SECRET)
    settings = load_settings()
    assert getattr(settings, setting).get_secret_value() == SECRET
    assert SECRET not in repr(settings) + str(settings) + settings.model_dump_json()


def test_the_file_of_the_data_directory_counts_where_the_working_directory_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("flag", "ours", "alias"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bethink.toml").write_text(f'model = "ollama:{name}"')
    monkeypatch.setenv("COGNICAL_KB_PATH", str(tmp_path / "alias"))
    assert load_settings().model == "ollama:alias"
    monkeypatch.setenv("BETHINK_DATA_DIR", str(tmp_path / "ours"))
    assert load_settings().model == "ollama:ours"
    assert load_settings(data_dir=tmp_path / "flag").model == "ollama:flag"


def test_a_home_directory_may_be_written_with_a_tilde(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BETHINK_DATA_DIR", "~/memory")
    assert load_settings().data_dir == tmp_path / "memory"


def test_an_empty_model_takes_the_file_s_model_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bethink.toml").write_text('model = "openai:gpt-4o"')
    monkeypatch.setenv("BETHINK_MODEL", "")
    assert not load_settings().model


def test_fallbacks_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BETHINK_MODEL_FALLBACKS", "openai:gpt-4o-mini, ollama:llama3.2,")
    assert load_settings().model_fallbacks == ["openai:gpt-4o-mini", "ollama:llama3.2"]


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("BETHINK_PORT", "99999", "setting port: "),
        ("BETHINK_RECALL_MIN_SCORE", "1.5", "setting recall_min_score: "),
        ("BETHINK_TOOLS_ENABLED", "perhaps", "setting tools_enabled: "),
        ("BETHINK_LOG_LEVEL", "loud", "setting log_level: "),
        ("BETHINK_PRICES", "{", "setting prices: "),
        (
            "BETHINK_PRICES",
            '{"openai:gpt-4o": {"input": -1, "output": 2}}',
            "setting prices.openai:gpt-4o.input: ",
        ),
        ("COGNICAL_TOOLS_TIMEOUT_MS", "soon", "COGNICAL_TOOLS_TIMEOUT_MS is 'soon'"),
    ],
)
def test_a_bad_value_is_told_with_the_setting_s_name(
    variable: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadInput) as caught:
        load_settings()
    assert says in str(caught.value)


def test_an_unknown_name_in_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "bethink.toml").write_text("recal_limit = 6")
    with pytest.raises(BadInput, match="setting recal_limit: "):
        load_settings()


def test_a_broken_file_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "bethink.toml").write_bytes(b"recall_limit = ")
    with pytest.raises(BadInput, match=r"bethink\.toml is not valid TOML"):
        load_settings()


def test_a_file_that_cannot_be_read_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "bethink.toml").mkdir()
    with pytest.raises(BadInput, match=r"bethink\.toml cannot be read"):
        load_settings()


def test_a_secret_of_the_wrong_type_is_in_no_error_and_no_cause_of_it(tmp_path: Path) -> None:
    (tmp_path / "bethink.toml").write_text(f'openai_api_key = ["{SECRET}"]')
    with pytest.raises(BadInput, match="setting openai_api_key: ") as caught:
        load_settings()
    assert SECRET not in f"{caught.value}{caught.value.__cause__}"


def test_the_log_goes_to_standard_error_from_its_level_on(capsys: pytest.CaptureFixture[str]) -> None:
    configure("warning")
    log("room").info("not this")
    log("room").warning("but this")
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.endswith("WARNING bethink.room: but this\n")
    assert "not this" not in written.err


@pytest.mark.parametrize("text", ["\ufeffrecall_limit = 6\n", "recall_limit = 6\r\nport = 9000\r\n"])
def test_a_file_that_an_editor_of_windows_wrote_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "bethink.toml").write_bytes(text.encode())
    assert load_settings().recall_limit == 6


def test_a_file_that_is_not_utf8_says_how_to_save_it(tmp_path: Path) -> None:
    (tmp_path / "bethink.toml").write_bytes("recall_limit = 6".encode("utf-16"))
    with pytest.raises(BadInput, match=r"not UTF-8 text .* save it as UTF-8"):
        load_settings()


def test_a_name_that_is_no_setting_leads_to_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "bethink.toml").write_text("modle = 'ollama:x'\nsunshine = true\n[vault]\npage = 1\n")
    with pytest.raises(BadInput) as told:
        load_settings()
    assert "there is no setting modle: perhaps model?" in str(told.value)
    assert "there is no setting sunshine" in str(told.value)
    assert "there is no setting vault.page" in str(told.value)
