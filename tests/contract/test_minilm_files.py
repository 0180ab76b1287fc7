"""The ONNX files that the build reads and writes, and what importing an embedder costs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.embeddings.int8_graph import (
    FLOAT,
    INT64,
    OnnxGraph,
    OnnxNode,
    Tensor,
    Value,
    read_constants,
    write,
)

SIZES = st.lists(st.integers(0, 2**40), max_size=4).map(tuple)
TENSORS = st.builds(Tensor, type=st.integers(1, 16), shape=SIZES, data=st.binary(max_size=300))


def graph(constants: dict[str, Tensor]) -> OnnxGraph:
    return OnnxGraph(
        name="weighted sum",
        nodes=[
            OnnxNode("Mul", ["input", "weight"], ["product"], {}),
            OnnxNode("ReduceSum", ["product", "axis"], ["sum"], {"keepdims": 0}),
            OnnxNode("LeakyRelu", ["sum"], ["output"], {"alpha": 0.5}),
        ],
        constants=constants,
        inputs=[Value("input", FLOAT, ("rows", 3))],
        outputs=[Value("output", FLOAT, ("rows",))],
        opsets={"": 20, "com.microsoft": 1},
    )


def test_a_written_graph_runs() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    weight = Tensor(FLOAT, (3,), np.array([1, 10, -100], "<f4").tobytes())
    axis = Tensor(INT64, (1,), np.array([-1], "<i8").tobytes())
    session = onnxruntime.InferenceSession(write(graph({"weight": weight, "axis": axis})))
    (sums,) = session.run(None, {"input": np.array([[1, 2, 0], [0, 0, 1]], np.float32)})
    assert sums.tolist() == [21.0, -50.0]


@given(constants=st.dictionaries(st.text(max_size=20), TENSORS, max_size=5))
def test_constants_are_read_as_they_were_written(constants: dict[str, Tensor]) -> None:
    written = write(graph(constants))
    assert written == write(graph(constants))
    assert {name: (t.type, t.shape, bytes(t.data)) for name, t in read_constants(written).items()} == {
        name: (t.type, t.shape, bytes(t.data)) for name, t in constants.items()
    }


@given(content=st.binary(max_size=200), cut=st.integers(1, 50))
def test_a_broken_file_is_refused_or_read_but_never_worse(content: bytes, cut: int) -> None:
    for broken in (content, write(graph({"weight": Tensor(FLOAT, (3,), content)}))[:-cut]):
        try:
            read_constants(broken)
        except ValueError as error:
            assert str(error)  # noqa: PT017 - both outcomes are right


def test_importing_an_embedder_loads_nothing_heavy() -> None:
    rooms = "hashing, minilm, e5, local, factory, fetch"
    code = f"import sys; from bethink.embeddings import {rooms}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "onnxruntime", "tokenizers", "mcp"} & set(loaded.stdout.split())
