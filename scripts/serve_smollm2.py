"""Serve a GGUF model on loopback with llama.cpp's own OpenAI-compatible server.

    pip install xllamacpp
    python scripts/fetch_smollm2.py
    python scripts/serve_smollm2.py          # prints `listening on http://127.0.0.1:PORT/v1`
    BETHINK_MODEL=llamacpp:smollm2 BETHINK_MODEL_BASE_URL=http://127.0.0.1:PORT/v1 bethink serve

SmolLM2 has 135 million parameters: good for seeing tokens stream, not for
conversation, and it cannot call tools. `--weights` takes any other model.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

WEIGHTS = Path(__file__).parent.parent / ".models" / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def serve(weights: Path, *, port: int, context_tokens: int, threads: int) -> None:
    """Serve until SIGINT or SIGTERM."""
    # Read when the library loads. Waiting threads that spin cost nine tenths of the speed on busy cores.
    os.environ.update(OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0")
    llama: Any = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {"smollm2"}
    params.n_ctx = context_tokens
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.verbosity = 0
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    server = llama.Server(params)
    print(f"listening on {server.listening_address}/v1", flush=True)
    signal.sigwait(signals)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Serve a GGUF model on loopback, OpenAI-compatible.")
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--port", type=int, default=0, help="0 picks a free port")
    parser.add_argument("--context-tokens", type=int, default=2048)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if not options.weights.exists():
        sys.exit(f"There are no weights at {options.weights}: run scripts/fetch_smollm2.py first.")
    serve(
        options.weights,
        port=options.port,
        context_tokens=options.context_tokens,
        threads=options.threads,
    )


if __name__ == "__main__":
    main()
