"""The package as another program imports it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bethink


def test_the_public_names_are_those_of_their_rooms() -> None:
    from bethink.app import open_app
    from bethink.settings import Settings

    assert bethink.open_app is open_app
    assert bethink.Settings is Settings


def test_an_unknown_name_is_an_ordinary_attribute_error() -> None:
    with pytest.raises(AttributeError, match="remember_me"):
        getattr(bethink, "remember_me")  # noqa: B009 - the type checker knows that it is not there


def test_importing_the_package_loads_none_of_its_rooms() -> None:
    program = "import sys, bethink; print([name for name in sys.modules if name.startswith('bethink.')])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
