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
from tests.documents import anchors

if TYPE_CHECKING:
    from collections.abc import Mapping

DEPLOY = Path(__file__).parents[2] / "deploy"
KNOWN = {f"BETHINK_{field}".upper() for field in Settings.model_fields} | {"OPENAI_API_KEY"}


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
    assert bethink["environment"].keys() <= KNOWN
    assert "" not in bethink["environment"].values(), "a variable that is there decides, also over the page"
    assert not any("${BETHINK_MODEL" in (value or "") for value in bethink["environment"].values())


def interpolated(text: str, variables: Mapping[str, str]) -> str:
    """A text as Compose fills variables into it: `${NAME:?what is missing}`."""

    def filled(found: re.Match[str]) -> str:
        return variables[found[1]]

    return re.sub(r"\$\{(\w+)(?::[?-][^}]*)?\}", filled, text)


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


def test_three_processes_have_one_database_one_bus_and_one_set_of_files() -> None:
    composed = compose("three")
    services = composed["services"]
    processes = {name: service for name, service in services.items() if name.startswith("bethink-")}
    assert len(processes) == 3
    for name, service in processes.items():
        assert service["image"] == "bethink"
        assert (service["user"], service["read_only"], service["volumes"]) == ("10001", True, ["data:/data"])
        assert service["environment"].keys() <= KNOWN
        assert {*service["depends_on"]} <= services.keys()
        assert seconds(service["stop_grace_period"]) > float(service["environment"]["BETHINK_DRAIN_S"]) + 5
        assert "/readyz" in service["healthcheck"]["test"][-1]
        assert f"{name}:8484" in proxy_lines()["reverse_proxy"]
    (build,) = [service["build"] for service in processes.values() if "build" in service]
    assert (DEPLOY / "three" / build["context"] / build["dockerfile"]).is_file()
    example = (DEPLOY / "three/example.env").read_text()
    variables = dict.fromkeys(re.findall(r"(?m)^(\w+)=", example), "x")
    environment = processes["bethink-1"]["environment"]
    filled = {name: interpolated(value, variables) for name, value in environment.items() if value}
    assert environment.keys() - filled.keys() <= variables.keys(), "Compose takes these from `.env`"
    names = ("database_url", "redis_url", "redis_use")
    given: dict[str, object] = {name: filled[f"BETHINK_{name}".upper()] for name in names}
    settings = Settings.model_validate(
        given
        | {
            "public_urls": [filled["BETHINK_PUBLIC_URLS"]],
            "trusted_proxies": [filled["BETHINK_TRUSTED_PROXIES"]],
        }
    )
    assert "$" not in "".join(filled.values())
    assert settings.needs_users
    hosts = re.findall(
        r"@(\w+)/|//(\w+):", filled["BETHINK_DATABASE_URL"] + " " + filled["BETHINK_REDIS_URL"]
    )
    assert {name for pair in hosts for name in pair if name} - {"bethink"} <= services.keys()
    assert services["proxy"]["networks"]["default"]["ipv4_address"] == settings.trusted_proxies[0]
    used = {mounted.partition(":")[0] for each in services.values() for mounted in each.get("volumes", [])}
    assert used - {"./Caddyfile"} == composed["volumes"].keys()


def seconds(text: str) -> float:
    """A time as Compose and Caddy write it."""
    return float(text.removesuffix("s"))


def proxy_lines() -> dict[str, str]:
    """What the proxy's file says, by the first word of each line."""
    lines = (line.strip() for line in (DEPLOY / "three/Caddyfile").read_text().splitlines())
    return {word: rest for word, _, rest in (line.partition(" ") for line in lines) if word not in {"#", "}"}}


def test_the_proxy_sends_each_word_on_and_leaves_out_who_is_not_ready() -> None:
    lines = proxy_lines()
    assert (lines["flush_interval"], lines["health_uri"]) == ("-1", "/readyz")
    assert lines["Host"] == "{$BETHINK_HOSTNAME:localhost}"
    assert seconds(lines["health_interval"]) < seconds(lines["health_timeout"]) <= 5
    assert "header_up" not in lines, "Caddy tells for whom it asks by itself"


def manifests() -> dict[str, dict[str, Any]]:
    """The parts of the manifest for Kubernetes, by their kind."""
    parts = yaml.safe_load_all((DEPLOY / "kubernetes/bethink.yaml").read_text())
    return {part["kind"]: part for part in parts}


def test_kubernetes_runs_it_as_nobody_asks_whether_it_is_ready_and_gives_it_time_to_finish() -> None:
    parts = manifests()
    pod = parts["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 10001)
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    configured = parts["ConfigMap"]["data"]
    pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] > float(configured["BETHINK_DRAIN_S"]) + pause + 5
    named = {each["name"] for each in container["env"]}
    assert named | configured.keys() <= KNOWN
    keys = {each["valueFrom"]["secretKeyRef"]["key"] for each in container["env"]}
    told = (DEPLOY / "README.md").read_text()
    assert all(f"--from-literal {key}=" in told for key in keys)


def test_the_parts_for_kubernetes_find_one_another() -> None:
    parts = manifests()
    pod = parts["Deployment"]["spec"]["template"]
    labels = pod["metadata"]["labels"]
    for kind in ("Service", "PodDisruptionBudget"):
        chosen = parts[kind]["spec"]["selector"]
        assert chosen.get("matchLabels", chosen) == labels
    assert parts["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    (container,) = pod["spec"]["containers"]
    assert {each["name"] for each in container["volumeMounts"]} == volumes.keys()
    claimed = volumes["data"]["persistentVolumeClaim"]["claimName"]
    assert claimed == parts["PersistentVolumeClaim"]["metadata"]["name"]
    assert parts["PersistentVolumeClaim"]["spec"]["accessModes"] == ["ReadWriteMany"]
    (rule,) = parts["Ingress"]["spec"]["rules"]
    assert [f"https://{rule['host']}"] == [parts["ConfigMap"]["data"]["BETHINK_PUBLIC_URLS"]]
    (path,) = rule["http"]["paths"]
    (port,) = parts["Service"]["spec"]["ports"]
    assert path["backend"]["service"] == {"name": "bethink", "port": {"name": port["name"]}}
    assert container["ports"][0]["name"] == port["targetPort"]


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
    drain = dict(word.split("=") for word in unit["Service"]["Environment"].split())["BETHINK_DRAIN_S"]
    assert float(unit["Service"]["TimeoutStopSec"]) > float(drain) + 5


def test_every_alert_says_what_happened_and_where_it_stands_what_to_do() -> None:
    (group,) = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())["groups"]
    names: list[str] = []
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert seconds_of(rule["for"]) >= 60
        assert rule["annotations"]["summary"]
        document, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert anchor == rule["alert"].lower()
        assert anchor in anchors(document)
        names.append(rule["alert"])
    assert {name.lower() for name in names} == anchors("docs/how-to/answer-alerts.md") - {"answer-alerts"}


def seconds_of(text: str) -> int:
    """A duration as Prometheus writes it."""
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = json.loads((DEPLOY / "grafana/bethink.json").read_text())["panels"]
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in panels}) == len(panels)
