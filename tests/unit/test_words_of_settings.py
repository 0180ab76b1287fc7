"""What the server says of settings and of model providers: the page has it in German."""

from __future__ import annotations

import json
from pathlib import Path

from bethink.llm.providers import PROVIDERS
from bethink.settings.catalogue import SETTINGS
from bethink.settings.groups import GROUPS

GERMAN = Path(__file__).parents[2] / "ui" / "src" / "i18n" / "de"


def test_each_setting_place_and_provider_is_said_in_german() -> None:
    german = {key for file in GERMAN.glob("*.json") for key in json.loads(file.read_text("utf-8"))}
    titled = (*SETTINGS.values(), *GROUPS)
    said = {each.title for each in titled} | {each.description for each in (*titled, *PROVIDERS.values())}
    assert said - german - {""} == set()
