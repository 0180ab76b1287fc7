"""YAML read as texts, safely: no other types, no anchors, nothing nested deeply, no field twice.

`frontmatter` imports it when there is a front matter to read: PyYAML takes its time.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

_yaml: Any = yaml
"""Its types are written with holes."""
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""In C where it was built so: ten times as fast."""
_MAX_DEPTH: Final = 32
_OPENING: Final = ("[", "{", "- ", "-\t", "? ")
_ENDS: Final = (yaml.SequenceEndEvent, yaml.MappingEndEvent)
_STARTS: Final = (yaml.SequenceStartEvent, yaml.MappingStartEvent)


class YamlFault(Exception):
    """What is wrong with a text that should be YAML, in words."""


class _TextLoader(_SafeLoader):
    """Leaves every plain scalar the text that it is, and takes no field twice."""

    yaml_implicit_resolvers: Final = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: ANN401, FBT001, FBT002 - PyYAML's
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(names)) < len(node.value):
            twice = next((name for name in names if names.count(name) > 1), "a list")
            raise yaml.constructor.ConstructorError(
                None, None, f"the field {str(twice)[:60]!r} is there twice, or is no name", node.start_mark
            )
        above: Any = super()
        return above.construct_mapping(node, deep)


def read_yaml(source: str) -> object:
    """What a text says in YAML: mappings, lists and texts; None for nothing.

    Raises:
        YamlFault: it is no such YAML.
    """
    try:
        _check(source)
        return yaml.load(source, Loader=_TextLoader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 2}: "
        raise YamlFault(f"{line}{error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise YamlFault("it is not valid YAML") from error


def _check(source: str) -> None:
    """Refuse anchors, which make much of little, and deep nesting, before anything is built of it."""
    has_anchors = "&" in source or "*" in source
    if not has_anchors and sum(map(source.count, _OPENING)) <= _MAX_DEPTH:
        return
    depth = 0
    for event in _yaml.parse(source, Loader=_SafeLoader):
        if getattr(event, "anchor", None) is not None:
            raise YamlFault("it has an anchor, `&` or `*`: write the value in quotes")
        depth += isinstance(event, _STARTS) - isinstance(event, _ENDS)
        if depth > _MAX_DEPTH:
            raise YamlFault("it is nested too deeply")
