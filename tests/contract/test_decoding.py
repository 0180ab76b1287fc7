"""Records are read by several threads from the first one on."""

from __future__ import annotations

import subprocess
import sys

FIRST_READS = """
import sys
import threading

import msgspec

from bethink.store import Collection, Record

sys.setswitchinterval(1e-6)
for number in range(200):
    inner = msgspec.defstruct(f"Inner{number}", [(f"a{n}", int, 0) for n in range(20)])
    fields = [(f"f{n}", list[inner], []) for n in range(30)]
    record = msgspec.defstruct(f"Record{number}", fields, bases=(Record,), frozen=True, kw_only=True)
    collection = Collection("things", record)
    body = collection.encode(record(id="1", **{f"f{n}": [inner(a3=1)] for n in range(30)}))
    start = threading.Barrier(4)
    threads = [threading.Thread(target=lambda: (start.wait(), collection.decode(body))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_are_the_first_to_read_a_type_do_not_end_the_process() -> None:
    """A library's own first look at a type is not safe for threads: it must be over before they begin."""
    ended = subprocess.run([sys.executable, "-c", FIRST_READS], check=False, capture_output=True, timeout=50)
    assert (ended.returncode, ended.stderr) == (0, b"")
