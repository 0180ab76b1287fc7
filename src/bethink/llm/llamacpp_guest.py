"""The process that runs a GGUF file: llama.cpp's own server on loopback. `llamacpp` starts and ends it.

It ends when its standard input does: so it never outlives who started it, however that one ended.
Orders are one line of JSON there; the address is the one line that it answers.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import msgspec

GREETING = "listening on "


class Orders(msgspec.Struct, frozen=True):
    """Which model to serve, how, and the key that a request must show."""

    weights: str
    context_tokens: int
    threads: int
    key: str


def main() -> None:
    """Serve until the input ends."""
    # Read when the library loads. Waiting threads that spin cost nine tenths of the speed on busy cores.
    os.environ.update(OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0")
    orders = msgspec.json.decode(sys.stdin.readline(), type=Orders)
    llama: Any = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = orders.weights
    params.model_alias = {"gguf"}
    params.n_ctx = orders.context_tokens
    params.n_parallel = 1
    params.cpuparams.n_threads = orders.threads
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [orders.key]
    params.verbosity = 0
    server = llama.Server(params)
    sys.stdout.write(f"{GREETING}{server.listening_address}/v1\n")
    sys.stdout.flush()
    while sys.stdin.read(1):
        pass
    # Not by the interpreter's own end: that would wait for an answer that nobody reads any more.
    os._exit(0)


if __name__ == "__main__":
    main()
