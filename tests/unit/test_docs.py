"""The documents: links lead somewhere, settings name a model, reference pages are current."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from bethink.cli.commands import make_parser, words_of
from bethink.llm.models import connect_models
from bethink.llm.providers import PROVIDERS
from bethink.mcp_server.families import FAMILIES
from bethink.settings import Settings, load_settings
from scripts import reference, reference_doors
from scripts.reference_doors import FOLDER
from tests.documents import ROOT, Example, anchors, code_of, documents, examples, links
from tests.house import open_house

HOW_TO = ("mcp-servers", "keep-your-memory-well", "vault", "use-it-from-elsewhere")
DECIDED_COLUMNS = ("source", "decided there", "here", "record")
TOOLS = set(re.findall(r"^## `(\w+)`$", (FOLDER / "tools.md").read_text(encoding="utf-8"), re.MULTILINE))
NO_COMMANDS = {"CHANGELOG.md", "docs/tutorials/add-a-feature.md"}
"""What they name was there once, or is made by their reader."""
TYPED = re.compile(r"(?m)(?:^|[`/]|[|$] |-- |bethink(?:-1)? )bethink (?!bethink)([a-z][^`\"|#>;&\n]*)")
KINDS = {
    "sh run",
    "python run",
    "text part",
    "sh settings",
    "toml settings",
    "python file",
    "diff apply",
    "toml phase",
}
EXAMPLES = [example for document in documents() for example in examples(document)]
SETTINGS = [example for example in EXAMPLES if example.kind.endswith(" settings")]


@pytest.mark.parametrize("document", documents())
def test_every_link_of_a_document_leads_to_a_file(document: str) -> None:
    missing: list[str] = []
    for target in links(document):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / document).parent / name if name else ROOT / document
        is_there = path.exists() and (
            not anchor or anchor in anchors(os.path.relpath(path.resolve(), ROOT.resolve()))
        )
        missing += [] if is_there else [target]
    assert missing == []


@pytest.mark.requirement("R134")
def test_the_readme_and_the_index_lead_to_every_document() -> None:
    seen: set[str] = set()
    waiting = ["README.md"]
    while waiting:
        document = waiting.pop()
        if document in seen:
            continue
        seen.add(document)
        for target in links(document):
            path = ((ROOT / document).parent / target.partition("#")[0]).resolve()
            if path.suffix == ".md" and path.is_relative_to(ROOT.resolve()):
                waiting.append(path.relative_to(ROOT.resolve()).as_posix())
    assert {"ARCHITECTURE.md", *(f"docs/how-to/{name}.md" for name in HOW_TO)} <= seen
    unreached = {name for name in documents() if not name.startswith("tests/")} - seen
    assert unreached == set()


def test_the_architecture_names_only_files_and_functions_that_there_are() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "bethink"
    named_files = set(re.findall(r"`([a-z0-9_]+/[a-z0-9_/]+\.py)`", text))
    assert {
        name for name in named_files if not ((package / name).is_file() or (ROOT / name).is_file())
    } == set()
    for file, named in re.findall(r"`([a-z0-9_/]+\.py)`\*{0,2} \(([^)]+)\)", text):
        source = (package / file).read_text(encoding="utf-8")
        for name in re.findall(r"`([A-Za-z_.]+)`", named):
            assert re.search(rf"\b{name.rpartition('.')[2]}\b", source), f"{name} is not in {file}"


@pytest.mark.requirement("R134", "P2a", "P6")
@pytest.mark.parametrize("page", ["deployment", "how-a-request-flows", "mcp", "memory"])
def test_an_explanation_draws_what_it_explains_and_names_only_settings_that_there_are(page: str) -> None:
    document = f"docs/explanation/{page}.md"
    text = (ROOT / document).read_text(encoding="utf-8")
    assert [example.kind for example in examples(document)].count("mermaid") >= 1
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", text))
    assert named <= set(Settings.model_fields) | TOOLS | {"open_app"}


@pytest.mark.requirement("R214", "R158")
def test_each_decision_of_the_sources_is_answered_with_a_record() -> None:
    document = "docs/adr/0092-the-sources-decisions.md"
    rows = [line.split(" | ") for line in (ROOT / document).read_text(encoding="utf-8").splitlines()]
    answered = {row[0].removeprefix("| "): row[-1] for row in rows if len(row) == len(DECIDED_COLUMNS)}
    named = {*(f"000 ADR-00{n}" for n in range(1, 5)), *(f"001 ADR-00{n}" for n in range(1, 6)), "004"}
    assert named <= set(answered)
    assert all("(00" in answered[name] or "this one" in answered[name] for name in named)


@pytest.mark.requirement("R197", "U2")
def test_the_testing_guide_names_twenty_cases_and_each_test_that_it_names_is_there() -> None:
    text = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d+) \|", text, re.MULTILINE) == [str(number) for number in range(1, 21)]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) == 20
    assert [
        f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / file).read_text("utf-8")
    ] == []
    patterns = set(re.findall(r"`(tests/[\w/*]+(?:\.py)?)`", text))
    assert [pattern for pattern in patterns if not list(ROOT.glob(pattern))] == []


@pytest.mark.requirement("R216")
def test_every_kind_of_document_is_there_and_linked_from_the_index() -> None:
    wanted = {
        "tutorial.md",
        "reference/http.md",
        "testing.md",
        "roadmap.md",
        "adr/README.md",
        "../deploy/README.md",
    }
    assert wanted <= set(links("docs/README.md"))
    assert "docs/README.md" in links("README.md")


def test_the_index_of_decisions_has_each_with_its_title() -> None:
    folder = ROOT / "docs" / "adr"
    index = (folder / "README.md").read_text(encoding="utf-8")
    for path in sorted(folder.glob("[0-9]*.md")):
        number, title = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").split(". ", 1)
        assert f"[{number}. {title}]({path.name})" in index


def test_every_command_that_a_document_names_is_there_with_its_options() -> None:
    known = dict(words_of(make_parser()))
    wrong: set[str] = set()
    for document in {name for name in documents() if name not in NO_COMMANDS}:
        for typed in TYPED.findall(code_of(document)):
            path = ""
            for word in typed.split():
                below = f"{path} {word}".strip()
                path = below if below in known else path
                is_option, has_commands = word.startswith("--"), not known[path][0].startswith("-")
                if is_option and word.split("=")[0] not in known[path]:
                    wrong.add(f"{document}: {typed}")
                if not is_option and below not in known and has_commands and word.islower():
                    wrong.add(f"{document}: {typed}")
    assert wrong == set()


def test_each_provider_of_models_is_named_with_its_address_and_key() -> None:
    rows = (ROOT / "docs/how-to/choose-a-model.md").read_text(encoding="utf-8")
    for name, provider in PROVIDERS.items():
        (row,) = [line for line in rows.splitlines() if line.startswith(f"| `{name}:` |")]
        assert provider.key_variable in row
        assert not provider.local or (provider.base_url or "") in row


def test_each_family_of_tools_is_named_where_mcp_clients_are_told_of_them() -> None:
    page = (ROOT / "docs/how-to/use-bethink-from-other-programs.md").read_text(encoding="utf-8")
    offered = [name for name, family in FAMILIES.items() if not family.on_request]
    assert [name for name in offered if f"\n| {name} | `" not in page] == []
    assert f"families: {', '.join(offered)}\n" in (FOLDER / "cli.md").read_text(encoding="utf-8")


def test_every_marked_example_names_a_check_that_there_is() -> None:
    marked = {example.name: example.kind for example in EXAMPLES if len(example.info) > 1}
    assert {name: kind for name, kind in marked.items() if kind not in KINDS} == {}


@pytest.mark.parametrize("example", SETTINGS, ids=lambda example: example.name)
def test_an_example_of_settings_connects_the_model_that_it_names(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(("BETHINK_", "OPENAI_", "AZURE_", "DIAL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    # An ellipsis stands for what only the reader has.
    text = example.text.replace("…", "x")
    if example.kind == "toml settings":
        (tmp_path / "bethink.toml").write_text(text, encoding="utf-8")
    else:
        for name, value in _exported(text):
            monkeypatch.setenv(name, value)
    settings = load_settings(data_dir=tmp_path)
    llm = connect_models(settings)
    assert llm is not None
    assert settings.model == example.info[2]
    assert llm.name == example.info[2]


def _exported(text: str) -> list[tuple[str, str]]:
    """What a block's `export` lines set."""
    words = [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("export ")]
    return [(name, value) for line in words for name, _, value in (word.partition("=") for word in line)]


PAGES = reference_doors.PAGES | reference.PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_reference_page_says_what_the_program_says(page: str) -> None:
    assert (FOLDER / page).read_text(encoding="utf-8") == PAGES[page]()


@pytest.mark.anyio
async def test_the_tools_page_has_every_tool_of_bethinks_own() -> None:
    async with open_house() as house:
        own = {tool.name for tool in house.app.toolbox.all if not tool.source}
    text = (FOLDER / "tools.md").read_text(encoding="utf-8")
    assert [name for name in sorted(own) if f"## `{name}`" not in text] == []


def test_the_settings_page_names_each_variable_by_which_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (FOLDER / "settings.md").read_text(encoding="utf-8")
    monkeypatch.setenv("BETHINK_RECALL_LIMIT", "7")
    assert load_settings().recall_limit == 7
    assert all(f"`BETHINK_{name.upper()}`" in page for name in Settings.model_fields)


def test_the_page_about_installing_names_every_extra() -> None:
    page = (ROOT / "docs/how-to/install.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(re.findall(r"(?m)^\| `(\w+)` \|", page)) == project["optional-dependencies"].keys()
