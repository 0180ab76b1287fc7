"""The files in `deploy/`, read as the programs that they are for do. No container engine runs here."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from bethink.settings import DialDoor, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

DEPLOY = Path(__file__).parents[2] / "deploy"


def compose(name: str) -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / name / "compose.yaml").read_text())


@pytest.mark.parametrize("name", ["alone", "dial"])
def test_a_composition_names_only_what_is_there(name: str) -> None:
    composed = compose(name)
    services, volumes = composed["services"], composed["volumes"]
    for service in services.values():
        assert {*service.get("depends_on", [])} <= services.keys()
        assert ("image" in service) != ("build" in service)
        for mounted in service.get("volumes", []):
            source = mounted.partition(":")[0]
            assert source in volumes or (DEPLOY / name / source).is_dir(), mounted
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    bethink = services["bethink"]
    assert bethink["user"] == "10001"
    assert (DEPLOY / name / bethink["build"]["context"] / bethink["build"]["dockerfile"]).is_file()
    known = {f"BETHINK_{field}".upper() for field in Settings.model_fields} | {"OPENAI_API_KEY"}
    assert bethink["environment"].keys() <= known


def interpolated(text: str, variables: Mapping[str, str]) -> str:
    """A text as Compose fills variables into it: `${NAME:?what is missing}`."""

    def filled(found: re.Match[str]) -> str:
        return variables[found[1]]

    return re.sub(r"\$\{(\w+)(?::\?[^}]*)?\}", filled, text)


def test_core_gets_the_keys_of_the_environment_and_only_what_its_image_knows() -> None:
    composed = compose("dial")
    example = (DEPLOY / "dial/example.env").read_text()
    variables = {name: f"the{name}" for name in re.findall(r"(?m)^(\w+)=", example)}
    core = json.loads(interpolated(composed["configs"]["core"]["content"], variables))
    assert [*core["keys"]] == [variables["DIAL_KEY"]]
    (model,) = core["models"].values()
    assert model["upstreams"][0]["key"] == variables["MODEL_KEY"]
    assert re.fullmatch(r"http://([^:/]+):5000/.*", model["endpoint"])[1] in composed["services"]  # pyright: ignore[reportOptionalSubscript]
    service = composed["services"]["core"]
    assert "user" not in service, "its entry point gives its folders to its own user"
    target = service["configs"][0]["target"]
    assert json.loads(service["environment"]["aidial.config.files"]) == [target]
    assert "$" not in interpolated(json.dumps(composed["services"]["chat"]["environment"]), variables)


def test_core_calls_bethink_by_a_name_and_a_path_that_it_answers_to() -> None:
    composed = compose("dial")
    door = DialDoor.model_validate_json(composed["services"]["bethink"]["environment"]["BETHINK_DIAL"])
    core = json.loads(composed["configs"]["core"]["content"])
    (name, application), *others = core["applications"].items()
    assert not others
    found = re.fullmatch(r"http://([^:/]+):(\d+)(/.*)", application["endpoint"])
    assert found is not None
    assert found[1] in door.hosts
    assert found[1] in composed["services"]
    assert found[3] == f"/openai/deployments/{door.name}/chat/completions"
    assert name == door.name
    assert application["forwardAuthToken"] is False
    assert door.model in core["models"]
    assert f"EXPOSE {found[2]}" in (DEPLOY / "Dockerfile").read_text()
    assert door.url == "http://core:8080"
    assert {*core["roles"]["default"]["limits"]} == {door.model, door.name}


def test_the_container_runs_as_nobody_and_says_how_it_is() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    last_from = max(number for number, line in enumerate(lines) if line.startswith("FROM "))
    final = lines[last_from:]
    assert "USER bethink" in final
    assert any(line.startswith("HEALTHCHECK") for line in final)
    assert not any("node" in line.lower() or "COPY . ." in line for line in final)
    assert 'CMD ["serve"]' in final


def test_a_build_reads_what_the_package_is_made_of_and_no_more() -> None:
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    allowed = {line[1:] for line in lines if line.startswith("!")}
    package = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    assert {"src", "ui", "hatch_build.py", "pyproject.toml", package["project"]["readme"]} <= allowed
    assert {*package["project"]["license-files"]} <= allowed
    assert not allowed & {".git", ".venv", ".models", ".env", "deploy", "tests"}


def test_the_unit_starts_bethink_for_a_user_of_its_own() -> None:
    unit = configparser.ConfigParser(strict=False)
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] - as the library's manual has it
    unit.read_string((DEPLOY / "systemd/bethink.service").read_text())
    assert unit["Service"]["ExecStart"].endswith("bethink serve")
    assert unit["Service"]["DynamicUser"] == "yes"
