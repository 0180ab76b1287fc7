"""Which format a file has, told by how it begins, whatever it holds."""

from __future__ import annotations

import io

from hypothesis import example, given
from hypothesis import strategies as st

from bethink.errors import BadInput
from bethink.export.service import FORMATS, recognised


@given(st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
@example(b"a\rb,c")
@example(b'content,"\r"')
def test_any_bytes_have_a_format_or_are_refused_in_words(content: bytes) -> None:
    try:
        name = recognised(io.BytesIO(content))
    except BadInput:
        return
    assert name in FORMATS
