"""What the OpenAPI document says beyond the routes' own models: problems and the events of a run."""

from __future__ import annotations

from typing import Any

import msgspec

from bethink.events import Event
from bethink.web.problems import Problem
from bethink.web.vault.shapes import VaultConflict

_REFERENCE = "#/components/schemas/{name}"


def event_stream(description: str) -> dict[str, Any]:
    """The OpenAPI response of a stream of events."""
    return {
        "description": description,
        "content": {
            "text/event-stream": {
                "schema": {
                    "type": "object",
                    "description": "One frame. `data` is an `Event` as JSON, and `[DONE]` at the end.",
                    "properties": {
                        "id": {"type": "string", "description": "The reader's place: `sequence.characters`."},
                        "data": {"type": "string"},
                    },
                    "required": ["data"],
                }
            }
        },
    }


def extended(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the schemas that no route names as a model."""
    (event,), parts = msgspec.json.schema_components([Event], ref_template=_REFERENCE)
    template = _REFERENCE.replace("{name}", "{model}")
    problem = Problem.model_json_schema(ref_template=template)
    conflict = VaultConflict.model_json_schema(ref_template=template)
    faults = problem.pop("$defs") | conflict.pop("$defs")
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    event["description"] = "What happens in a run; a reader shows a kind that it does not know, and goes on."
    schemas |= faults | {"Problem": problem, "VaultConflict": conflict, "Event": event} | parts
    return document
