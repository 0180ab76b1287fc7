"""Files that are asked about and pictures that are made, as the page shows them."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.painter import PNG
from tests.papers import pdf
from tests.ui.acts import answered, composer, done, faults, say
from tests.ui.conftest import emptied
from tests.ui.running import Served, bethink

pytestmark = pytest.mark.timeout(90)

SCRIPT = Path(__file__).parent / "files_script.json"
REPORT: FilePayload = {
    "name": "report.pdf",
    "mimeType": "application/pdf",
    "buffer": pdf(["Sales grew in the north."], ["Glaciers melt faster every summer."]),
}


class _Paints(BaseHTTPRequestHandler):
    """OpenAI's images API, with one picture for everybody."""

    def do_POST(self) -> None:
        body = json.dumps({"data": [{"b64_json": base64.b64encode(PNG).decode()}]}).encode()
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A Bethink that reads files, and makes pictures with a model on loopback."""
    painter = ThreadingHTTPServer(("127.0.0.1", 0), _Paints)
    threading.Thread(target=painter.serve_forever, daemon=True).start()
    with (
        scripted_process(["--script", str(SCRIPT)]) as model,
        bethink(
            tmp_path_factory.mktemp("data"),
            model.base_url,
            BETHINK_IMAGES_MODEL="openai:dall-e-2",
            BETHINK_IMAGES_BASE_URL=f"http://127.0.0.1:{painter.server_port}/v1",
        ) as served,
    ):
        yield served
    painter.shutdown()
    painter.server_close()


@pytest.mark.requirement("R88")
def test_a_pdf_that_was_given_is_searched(studio: Served, page: Page) -> None:
    emptied(studio)
    page.goto(studio.url)
    page.get_by_label("Files to attach").set_input_files([REPORT])
    expect(page.get_by_text("report.pdf").first).to_be_visible()
    composer(page).fill("What does the report say about glaciers?")
    # Not before the file has arrived.
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    page.keyboard.press("Enter")
    answered(page).wait_for()
    expect(page.get_by_text("They melt faster every summer (report.pdf, page 2).").first).to_be_visible()
    done(page).get_by_text("Search the files: glaciers").click()
    expect(page.get_by_text("From: report.pdf (Page 2)").first).to_be_visible()
    assert not faults(page)


@pytest.mark.requirement("R91")
def test_a_picture_that_was_made_stands_in_the_answer(studio: Served, page: Page) -> None:
    emptied(studio)
    page.goto(studio.url)
    say(page, "Paint a lake")
    answered(page).wait_for()
    picture = page.get_by_role("img", name="picture.png")
    expect(picture).to_be_visible()
    expect(picture).to_have_attribute("aria-busy", "false")
    assert not faults(page)
