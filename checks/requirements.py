"""The manifest of requirements against the tests; run by `make check` and at the end of `make test`.

`tests/requirements.toml` holds every numbered requirement with a state:
`planned`, `covered` by at least one test that carries
`@pytest.mark.requirement(id)`, or `deviates`, saying why.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).parent.parent
STATES = ("planned", "covered", "deviates")


class Requirement(TypedDict, total=False):
    """One line of the manifest."""

    title: str
    room: str
    state: str
    why: str


def carried_ids(source: str) -> list[tuple[int, str]]:
    """Lines and ids of the requirement markers in a test file; a marker that is no literal has the id `?`."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="requirement", value=ast.Attribute(attr="mark"))):
                for argument in node.args:
                    literal = argument.value if isinstance(argument, ast.Constant) else "?"
                    found.append((node.lineno, str(literal)))
            case _:
                pass
    return found


def manifest_faults(manifest: dict[str, Requirement]) -> list[str]:
    """What is wrong in the manifest itself."""
    faults: list[str] = []
    for name, requirement in manifest.items():
        if not requirement.get("title") or not requirement.get("room"):
            faults.append(f"{name}: a title and a room are missing")
        if requirement.get("state") not in STATES:
            faults.append(f"{name}: its state is one of {', '.join(STATES)}")
        if requirement.get("state") == "deviates" and not requirement.get("why"):
            faults.append(f"{name}: a deviation says why")
    return faults


def marker_faults(manifest: dict[str, Requirement], carried: dict[str, list[str]]) -> list[str]:
    """Markers with an unknown id, and covered requirements that no test carries."""
    unknown = [
        f"{', '.join(places)}: no requirement is called {name}"
        for name, places in carried.items()
        if name not in manifest
    ]
    unproven = [
        f"{name} is said to be covered, and no test carries it"
        for name, requirement in manifest.items()
        if requirement.get("state") == "covered" and name not in carried
    ]
    return unknown + unproven


def main() -> int:
    """Prints the faults and how far the tests have come; 1 if there is a fault."""
    manifest: dict[str, Requirement] = tomllib.loads((ROOT / "tests/requirements.toml").read_text("utf-8"))
    carried: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for line, name in carried_ids(path.read_text("utf-8")):
            carried[name].append(f"{path.relative_to(ROOT)}:{line}")
    faults = manifest_faults(manifest) + marker_faults(manifest, carried)
    states = Counter(requirement.get("state", "") for requirement in manifest.values())
    early = [
        f"{name} has a test and is still planned"
        for name in sorted(carried)
        if manifest.get(name, {}).get("state") == "planned"
    ]
    counted = f"{states['covered']} covered, {states['planned']} uncovered, {states['deviates']} deviate"
    print("\n".join([*faults, *early, f"{counted} of {len(manifest)} requirements"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
