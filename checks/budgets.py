"""The ratchet of sizes and of simplicity; run by `make check`.

A file has at most 700 lines, a function of the package at most 60. What else a function may
have stands in pyproject.toml and ruff counts it. `checks/budgets.toml` names what
is over, with its number: more fails, and less fails too until the number is
written down. Of the whole package are counted and printed: its lines, the share of modules
that one module alone imports, arguments splatted from a tuple, and values that change
although they say they are frozen: these numbers only must not grow.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

MAX_LINES = 700
MAX_FUNCTION_LINES = 60
COUNTS = {"lines": 80_000, "one importer, %": 24, "splatted tuples": 0, "object.__setattr__": 0}
"""What the package may have of each; `checks/budgets.toml` may name more, as for a file."""
COUNTED = (".py", ".ts", ".tsx")
GENERATED = re.compile(r"/generated/|/src/contract/|\.generated\.|\.gen\.")
FUNCTION_RULES = "C901,PLR0913,PLR0915,PLR0917,PLR1702"
ROOT = Path(__file__).parent.parent


def long_files() -> dict[str, int]:
    """Lines of every file of the project that has too many, by path."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    sizes = {
        name: len((ROOT / name).read_text(encoding="utf-8").splitlines())
        for name in listed
        if name.endswith(COUNTED) and not GENERATED.search(name) and (ROOT / name).is_file()
    }
    return {name: lines for name, lines in sizes.items() if lines > MAX_LINES}


def function_at(source: str, row: int) -> str:
    """The dotted name of the innermost function or class whose lines, counted from 1, include `row`."""
    names: list[str] = []
    nodes: list[ast.AST] = [ast.parse(source)]
    while nodes:
        for node in ast.iter_child_nodes(nodes.pop()):
            start, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
            if not start <= row <= end:
                continue
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.append(node.name)
            nodes = [node]
            break
    return ".".join(names) or f"line {row}"


def large_functions() -> dict[str, int]:
    """What ruff counts too much in a function, waived or not, by `path::function RULE`."""
    ruff = [Path(sys.executable).with_name("ruff"), "check", "--output-format=json"]
    found = subprocess.run(
        [*ruff, "--ignore-noqa", "--select", FUNCTION_RULES, "--exit-zero", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    over: dict[str, int] = {}
    for finding in json.loads(found):
        path = Path(finding["filename"])
        row = int(finding["location"]["row"])
        name = function_at(path.read_text(encoding="utf-8"), row)
        number = re.search(r"\((\d+) ?[>/]", finding["message"])
        where = f"{path.relative_to(ROOT)}::{name} {finding['code']}"
        over[where] = max(over.get(where, 0), int(number[1]) if number else 1)
    return over


def package() -> dict[str, tuple[Path, ast.Module]]:
    """The modules of the package by their dotted names, each with its path and tree."""
    modules: dict[str, tuple[Path, ast.Module]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        modules[name] = (path, ast.parse(path.read_text(encoding="utf-8")))
    return modules


def importers_of(modules: dict[str, tuple[Path, ast.Module]]) -> dict[str, set[str]]:
    """By module, who imports it or a name of it."""
    importers: dict[str, set[str]] = {name: set() for name in modules}
    for name, (_, tree) in modules.items():
        for node in ast.walk(tree):
            match node:
                case ast.Import():
                    wanted = [alias.name for alias in node.names]
                case ast.ImportFrom(module=str() as parent, level=0):
                    parts = [f"{parent}.{alias.name}" for alias in node.names]
                    wanted = [part if part in modules else parent for part in parts]
                case _:
                    continue
            for one in wanted:
                if one in modules:
                    importers[one].add(name)
    return importers


def counts(modules: dict[str, tuple[Path, ast.Module]]) -> dict[str, int]:
    """What is counted of the whole package, by the names of `COUNTS`."""
    nodes = [node for _, tree in modules.values() for node in ast.walk(tree)]
    alone = sum(len(who) == 1 for who in importers_of(modules).values())
    return {
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path, _ in modules.values()),
        "one importer, %": -(-100 * alone // len(modules)),
        "splatted tuples": sum(
            isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Tuple)
            for node in nodes
            if isinstance(node, ast.Call)
            for argument in node.args
        ),
        "object.__setattr__": sum(
            isinstance(node, ast.Attribute) and node.attr == "__setattr__" for node in nodes
        ),
    }


def long_functions(modules: dict[str, tuple[Path, ast.Module]]) -> dict[str, int]:
    """Lines of every function of the package that has too many, by `path::function lines`."""
    return {
        f"{path.relative_to(ROOT)}::{node.name} lines": node.end_lineno - node.lineno + 1
        for path, tree in modules.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= MAX_FUNCTION_LINES
    }


def main() -> int:
    """Prints what is over or under its number; 1 if anything is."""
    allowed: dict[str, int] = tomllib.loads((ROOT / "checks/budgets.toml").read_text(encoding="utf-8"))
    modules = package()
    counted = counts(modules)
    print(f"{len(modules)} modules; " + "; ".join(f"{name}: {number}" for name, number in counted.items()))
    over = {
        name: number for name, number in counted.items() if number > max(COUNTS[name], allowed.get(name, 0))
    }
    found = long_files() | large_functions() | long_functions(modules) | over
    faults = [
        f"{where}: {number}, and {allowed.get(where, 'no more than the budget')} is allowed"
        for where, number in sorted(found.items())
        if number > allowed.get(where, 0)
    ]
    faults += [
        f"{where}: now {found[where]}; write that into checks/budgets.toml"
        if where in found
        else f"{where}: within its budget now; take it out of checks/budgets.toml"
        for where, number in sorted(allowed.items())
        if found.get(where, 0) < number and where not in counted
    ]
    print("\n".join(faults) or f"sizes are within budget, {len(allowed)} exceptions")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
