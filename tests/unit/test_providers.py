"""Which model a setting names, and what is said when it names none."""

from __future__ import annotations

import pytest

from bethink.errors import BadInput
from bethink.llm.endpoint import Endpoint
from bethink.llm.openai_wire import OpenAiWire
from bethink.llm.providers import PROVIDERS, ModelConnection, connect, split_spec
from bethink.llm.scripted import ScriptedLlm


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_every_provider_makes_a_model_by_its_name(provider: str) -> None:
    llm = connect(f"{provider}:some/model:tag", ModelConnection(base_url="http://127.0.0.1:1/v1"))
    assert isinstance(llm, OpenAiWire)
    assert llm.name == f"{provider}:some/model:tag"
    assert llm.context_tokens == PROVIDERS[provider].context_tokens


def test_the_window_can_be_set() -> None:
    assert connect("ollama:x", ModelConnection(context_tokens=9_000)).context_tokens == 9_000


def test_the_script_is_a_provider_too() -> None:
    llm = connect("scripted:demo")
    assert isinstance(llm, ScriptedLlm)
    assert llm.name == "scripted:demo"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("gpt-5", "openai:gpt-5"),
        ("", "provider:name"),
        ("mistral:large", "openai:, azure:, openrouter:"),
        ("openai:", "name is missing"),
        ("azure:gpt", "BETHINK_MODEL_BASE_URL"),
        ("dial:gpt", "BETHINK_MODEL_BASE_URL"),
    ],
)
def test_a_setting_that_names_no_model_says_how_to_write_one(spec: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        connect(spec)


def test_a_name_may_hold_colons() -> None:
    assert split_spec(" openrouter:deepseek/r1:free ") == ("openrouter", "deepseek/r1:free")


@pytest.mark.parametrize(
    ("base_url", "chat_url"),
    [
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
    ],
)
def test_a_base_url_may_be_written_in_several_ways(base_url: str, chat_url: str) -> None:
    assert Endpoint(base_url, "m").chat_url == chat_url


def test_an_azure_address_may_end_in_openai() -> None:
    wanted = "https://h/openai/deployments/my%20gpt/chat/completions?api-version=2025-01-01"
    assert Endpoint("https://h/openai/", "my gpt", azure=True, api_version="2025-01-01").chat_url == wanted


@pytest.mark.parametrize("base_url", ["", "api.openai.com/v1", "ftp://host/v1", "http://"])
def test_a_base_url_that_is_none_is_bad_input(base_url: str) -> None:
    with pytest.raises(BadInput, match="begins with http:// or https://"):
        Endpoint(base_url, "m")


def test_a_key_that_breaks_the_line_is_bad_input_and_not_shown() -> None:
    with pytest.raises(BadInput) as raised:
        Endpoint("http://127.0.0.1/v1", "m", api_key="secret\nX-Evil: 1")
    assert "secret" not in str(raised.value)


def test_an_address_is_shown_without_its_password() -> None:
    endpoint = Endpoint("https://user:word@host.test:8443/v1/?token=x", "m", api_key="secret")
    assert endpoint.address == "https://host.test:8443/v1"
    assert "secret" not in repr(endpoint)
