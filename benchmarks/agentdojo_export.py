"""What AgentDojo's package holds, as lines of JSON: run by `agentdojo.py` in a Python that has the package.

A line a suite with its tools, a line a user's task and a line an attack: the
calls that solve it, each with what the environment answers. Where a task meets
strangers' words stands a mark, `<<place>>`. Nothing of Bethink is imported here,
and nothing of AgentDojo is kept there.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def solved(suite: Any, task: Any, environment: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - the package's
    """The calls that solve a task, with what they answer; errors are answers, too."""
    runtime = import_module("agentdojo.functions_runtime").FunctionsRuntime(suite.tools)
    told = import_module("pydantic").TypeAdapter(Any).dump_json
    for call in task.ground_truth(environment):
        result, error = runtime.run_function(environment, call.function, call.args)
        yield {
            "name": call.function,
            "arguments": dict(call.args),
            # As servers answer: a text as it is, all else as JSON.
            "result": error or (result if isinstance(result, str) else told(result).decode()),
        }


def export(version: str) -> Iterator[dict[str, Any]]:
    """All lines."""
    for name, suite in import_module("agentdojo.task_suite.load_suites").get_suites(version).items():
        yield {
            "kind": "suite",
            "suite": name,
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters.model_json_schema(),
                }
                for tool in suite.tools
            ],
        }
        marks = {place: f"<<{place}>>" for place in suite.get_injection_vector_defaults()}
        marked = suite.load_and_inject_default_environment(marks)
        plain = suite.load_and_inject_default_environment({})
        for kind, tasks, environment in (
            ("task", suite.user_tasks, marked),
            ("attack", suite.injection_tasks, plain),
        ):
            for task in tasks.values():
                own = environment.model_copy(deep=True)
                ready = task.init_environment(own) if kind == "task" else own
                yield {
                    "kind": kind,
                    "suite": name,
                    "id": task.ID,
                    "says": task.PROMPT if kind == "task" else task.GOAL,
                    "calls": list(solved(suite, task, ready)),
                }


if __name__ == "__main__":
    for line in export(sys.argv[1]):
        print(json.dumps(line, default=str))
