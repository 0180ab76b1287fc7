"""Knowledge bases in processes of their own: built by command, served to an MCP client, killed in between."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests import warm
from tests.mcp_clients import over_stdio, program, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]


async def run(data: Path, *words: str) -> tuple[int, str]:
    """One command's exit code, and what it printed."""
    command, *code = warm.program(warm.BETHINK)
    process = await asyncio.create_subprocess_exec(
        *(command, *code, *words),
        env=program(data).env,
        cwd=data.parent,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


@pytest.mark.requirement("R157", "R141", "C20")
async def test_a_base_that_was_built_by_command_answers_an_mcp_client(tmp_path: Path) -> None:
    docs, data = tmp_path / "docs", tmp_path / "data"
    docs.mkdir()
    (docs / "zebra.md").write_text("# Zebra\n\nA zebra has black stripes.\n")
    code, said = await run(data, "kb", "build", "--input", "./docs", "--export", "kb.tar.gz")
    assert code == 0, said
    assert "docs: 1 document" in said
    async with over_stdio(data, "--kb", "docs") as client:
        assert "store_memory" not in {one.name for one in (await client.list_tools()).tools}
        found = await client.call_tool("semantic_search", {"query": "zebra stripes"})
        assert not found.is_error, text_of(found)
        assert found.structured_content["results"][0]["name"] == "zebra.md"
        added = await client.call_tool("add_documents", {"documents": [{"id": "horse", "text": "Hooves."}]})
        assert not added.is_error, text_of(added)
        again = await client.call_tool("search", {"query": "hooves", "limit": 1})
        assert again.structured_content["results"][0]["name"] == "horse"
    other = tmp_path / "other"
    code, said = await run(other, "kb", "import", str(tmp_path / "kb.tar.gz"))
    assert code == 0, said
    code, said = await run(other, "kb", "search", "docs", "zebra stripes")
    assert (code, "A zebra has black stripes." in said) == (0, True)
