"""Another memory that lives the lives, by its own Python: `PYTHON life_peer.py NAME TASK.json`.

`life_others` starts it, and gives it the messages, the questions and the addresses of a model and of an
embedding model on loopback. It imports nothing of Bethink, which is not installed there. After each message
it notes all that the memory holds, after each life what the questions find; one line of JSON a life.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import urllib.request
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FOUND = 5
_MOST_HELD = 1_000
_ANSWER = "I see."
_SILENT = {
    "MEM0_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "ANONYMIZED_TELEMETRY": "False",
    "NO_PROXY": "127.0.0.1,localhost",
    # What would leave this machine fails at once.
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
}


class _Mem0:
    """mem0, with inference: what it makes of each turn itself. Its store is qdrant's local one."""

    package = "mem0ai"

    def __init__(self, task: dict[str, Any]) -> None:
        os.environ["MEM0_DIR"] = task["directory"]
        mem0: Any = importlib.import_module("mem0")
        model = {"model": task["model"], "openai_base_url": task["model_url"], "api_key": "none"}
        embedder = {"model": "bench", "openai_base_url": task["embeddings_url"], "api_key": "none"}
        store = {"path": f"{task['directory']}/qdrant", "embedding_model_dims": task["dimensions"]}
        self._memory = mem0.Memory.from_config(
            {
                "llm": {"provider": "openai", "config": model | {"max_tokens": task["output_tokens"]}},
                "embedder": {"provider": "openai", "config": embedder},
                "vector_store": {"provider": "qdrant", "config": store | {"on_disk": True}},
                "history_db_path": f"{task['directory']}/history.db",
            }
        )

    def say(self, owner: str, messages: list[dict[str, str]]) -> None:
        self._memory.add(messages, user_id=owner)

    def held(self, owner: str) -> dict[str, str]:
        found = self._memory.get_all(filters={"user_id": owner}, top_k=_MOST_HELD)["results"]
        return {one["id"]: one["memory"] for one in found}

    def search(self, owner: str, question: str) -> list[str]:
        found = self._memory.search(question, filters={"user_id": owner}, top_k=_FOUND)["results"]
        return [one["memory"] for one in found]


class _LangMem:
    """langmem's manager of a store, which may also change and delete; the store is langgraph's in memory."""

    package = "langmem"

    def __init__(self, task: dict[str, Any]) -> None:
        openai: Any = importlib.import_module("langchain_openai")
        langmem: Any = importlib.import_module("langmem")
        stores: Any = importlib.import_module("langgraph.store.memory")
        self._url = task["embeddings_url"]
        self._store = stores.InMemoryStore(
            index={"dims": task["dimensions"], "embed": self._embed, "fields": ["content.content"]}
        )
        model = openai.ChatOpenAI(
            model=task["model"],
            base_url=task["model_url"],
            api_key="none",
            max_tokens=task["output_tokens"],
            max_retries=0,
        )
        self._manager = langmem.create_memory_store_manager(
            model, store=self._store, namespace=("{owner}",), enable_deletes=True
        )

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        body = json.dumps({"input": list(texts), "model": "bench"}).encode()
        request = urllib.request.Request(  # noqa: S310 - loopback
            f"{self._url}/embeddings", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
            return [one["embedding"] for one in json.load(answer)["data"]]

    def say(self, owner: str, messages: list[dict[str, str]]) -> None:
        self._manager.invoke({"messages": messages}, config={"configurable": {"owner": owner}})

    def held(self, owner: str) -> dict[str, str]:
        return {one.key: _text_of(one) for one in self._store.search((owner,), limit=_MOST_HELD)}

    def search(self, owner: str, question: str) -> list[str]:
        return [_text_of(one) for one in self._store.search((owner,), query=question, limit=_FOUND)]


def _text_of(item: Any) -> str:  # noqa: ANN401 - langgraph's
    return str(item.value["content"]["content"])


PEERS: dict[str, Callable[[dict[str, Any]], _Mem0 | _LangMem]] = {"mem0": _Mem0, "langmem": _LangMem}


def lived(memory: _Mem0 | _LangMem, owner: str, life: dict[str, Any]) -> dict[str, Any]:
    """What it held after each message, and what it found for each question."""
    started, failed, fault = time.perf_counter(), 0, ""
    steps: list[dict[str, str]] = []
    for text in life["said"]:
        turn = [{"role": "user", "content": text}, {"role": "assistant", "content": _ANSWER}]
        try:
            memory.say(owner, turn)
        except Exception as error:  # noqa: BLE001 - theirs can be any
            failed, fault = failed + 1, f"{type(error).__name__}: {error}"[:300]
        steps.append(memory.held(owner))
    found = [memory.search(owner, question) for question in life["asked"]]
    took_s = round(time.perf_counter() - started, 1)
    return {"steps": steps, "found": found, "failed": failed, "fault": fault, "took_s": took_s}


def _run(name: str, path: str) -> None:
    os.environ |= _SILENT
    task = json.loads(Path(path).read_text(encoding="utf-8"))
    try:
        memory = PEERS[name](task)
    except ImportError:
        return
    named = f"{name} {metadata.version(memory.package)}"
    with Path(task["told"]).open("a", encoding="utf-8") as told:
        for place, life in enumerate(task["lives"]):
            print(json.dumps({"name": named, **lived(memory, f"life{place}", life)}), file=told, flush=True)


if __name__ == "__main__":
    _run(*sys.argv[1:])
