"""Where a message is written: who answers, what is named, prompts, pictures, a long paste, and voice."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from benchmarks.stand_ins.scripted_process import scripted_process
from tests.painter import PNG
from tests.ui.acts import answered, composer, faults, say
from tests.ui.conftest import NewPage, emptied
from tests.ui.running import PICTURES, SCRIPT, Served, bethink

pytestmark = pytest.mark.timeout(120)

LETTER = "Write a {{tone|friendly}} letter about {{topic}}."
PICTURE: FilePayload = {"name": "dot.png", "mimeType": "image/png", "buffer": PNG}
HEARD: list[str] = []

# A microphone that hums; what it is asked for counts.
MICROPHONE = """() => {
    const devices = navigator.mediaDevices;
    devices.getUserMedia = async () => {
        const context = new AudioContext();
        const tone = context.createOscillator();
        const out = context.createMediaStreamDestination();
        tone.connect(out);
        tone.start();
        return out.stream;
    };
}"""
DENIED = """() => {
    navigator.mediaDevices.getUserMedia = async () => {
        throw new DOMException("no", "NotAllowedError");
    };
}"""


class _Speaks(BaseHTTPRequestHandler):
    """OpenAI's audio API: it hears one sentence, and says a long silence."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        HEARD.append(self.path)
        transcript = json.dumps({"text": "buy oat milk"}).encode()
        body = transcript if self.path.endswith("transcriptions") else _silence()
        self.send_response(200)
        self.send_header("content-type", "application/json" if body is transcript else "audio/wav")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def _silence() -> bytes:
    """A WAV of 8,000 samples a second: a minute."""
    data = bytes(60 * 16_000)
    head = b"RIFF" + (36 + len(data)).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
    form = b"\1\0\1\0" + (8_000).to_bytes(4, "little") + (16_000).to_bytes(4, "little") + b"\2\0\x10\0"
    return head + form + b"data" + len(data).to_bytes(4, "little") + data


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory, browser: object) -> Generator[Served]:
    """A Bethink with an assistant, an audio endpoint, and small files only."""
    del browser
    speaker = ThreadingHTTPServer(("127.0.0.1", 0), _Speaks)
    threading.Thread(target=speaker.serve_forever, daemon=True).start()
    lawyer = {"system": "You read contracts.", "tools": False}
    with (
        scripted_process(["--script", str(SCRIPT)]) as model,
        bethink(
            tmp_path_factory.mktemp("data"),
            model.base_url,
            BETHINK_ASSISTANTS=json.dumps({"Lawyer": lawyer}),
            BETHINK_MODELS_OFFERED="openai:gpt-4o",
            BETHINK_AUDIO_MODEL="whisper-1",
            BETHINK_SPEECH_MODEL="tts-1",
            BETHINK_AUDIO_BASE_URL=f"http://127.0.0.1:{speaker.server_port}/v1",
            BETHINK_MAX_FILE_BYTES="100000",
        ) as served,
    ):
        yield served
    speaker.shutdown()
    speaker.server_close()


@pytest.fixture
def desk(room: Served) -> Served:
    """The same with one document, one page of the vault and no prompt."""
    emptied(room)
    HEARD.clear()
    for prompt in room.get("/prompts")["items"]:
        room.delete(f"/prompts/{prompt['id']}")
    if not room.get("/documents")["items"]:
        room.post("/documents/text", {"name": "Acme contract", "text": "It ends in 2027."})
        page: dict[str, object] = {"text": "# Lisbon\n\nBy train.", "if_version": ""}
        room.ask("PUT", "/vault/pages/trips/lisbon.md", page)
    return room


def options(page: Page) -> Locator:
    """What is offered above the composer."""
    return page.get_by_role("listbox").get_by_role("option")


def test_a_prompt_is_written_filled_in_and_sent_by_keyboard_alone(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    expect(composer(page)).to_be_focused()
    page.keyboard.press("Control+k")
    page.keyboard.type("prompts")
    expect(options(page).filter(has_text=re.compile("^Prompts"))).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Texts that you send again")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("n")
    expect(page.get_by_role("textbox", name="Name")).to_be_focused()
    page.keyboard.type("Polite letter")
    page.keyboard.press("Tab")
    page.keyboard.type(LETTER)
    expect(page.get_by_role("list", name="Variables").get_by_role("listitem")).to_have_count(2)
    assert faults(page) == []
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Prompt saved")).to_be_visible()
    page.goto(desk.url)
    expect(composer(page)).to_be_focused()
    page.keyboard.type("/let")
    expect(options(page).filter(has_text="Polite letter")).to_have_attribute("aria-selected", "true")
    assert faults(page) == []
    page.keyboard.press("Enter")
    form = page.get_by_role("form", name="Polite letter")
    expect(form.get_by_role("textbox", name="tone")).to_be_focused()
    assert faults(page) == []
    # What has to be given is asked for.
    page.keyboard.press("Enter")
    expect(form.get_by_role("textbox", name="topic")).to_be_focused()
    page.keyboard.type("the rent")
    page.keyboard.press("Enter")
    expect(composer(page)).to_have_value("Write a friendly letter about the rent.")
    expect(composer(page)).to_be_focused()
    page.keyboard.press("Enter")
    answered(page).wait_for()
    asked = page.get_by_role("article", name="You")
    expect(asked).to_contain_text("Write a friendly letter about the rent.")


def test_a_prompt_that_is_deleted_comes_back(desk: Served, page: Page) -> None:
    desk.post("/prompts", {"name": "Short", "text": "Be short."})
    page.goto(f"{desk.url}/prompts")
    page.get_by_role("link", name="Short").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("link", name="Short")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="Short")).to_be_visible()
    page.get_by_role("button", name="Use in a chat").click()
    expect(options(page).filter(has_text="Be short.")).to_be_visible()
    composer(page).press("Enter")
    expect(composer(page)).to_have_value("Be short.")


def test_documents_and_pages_are_named_by_their_signs(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    expect(composer(page)).to_be_focused()
    page.keyboard.type("Compare @contr ac")
    expect(options(page)).to_have_text(re.compile("Acme contract"))
    page.keyboard.press("Enter")
    page.keyboard.type("with #lis")
    expect(options(page)).to_have_text(re.compile("lisbon"))
    page.keyboard.press("Tab")
    expect(composer(page)).to_have_value("Compare with ")
    named = page.get_by_role("list", name="About these")
    expect(named.get_by_role("listitem")).to_have_text([re.compile("Acme contract"), re.compile("lisbon")])
    assert faults(page) == []
    # Behind the words nothing is taken back; where there are none the last chip is.
    page.keyboard.type("it")
    say(page, "Compare them")
    answered(page).wait_for()
    asked = page.get_by_role("article", name="You")
    expect(asked.get_by_role("link", name="Acme contract")).to_be_visible()
    expect(asked).not_to_contain_text("document:")
    (conversation,) = desk.get("/conversations")["items"]
    assert conversation["title"] == "Compare them"
    said = desk.get(f"/conversations/{conversation['id']}")["messages"][0]["content"]
    assert re.search(r"“Acme contract” \(document:[\w-]+\), .*\(file_path: trips/lisbon\.md\)$", said)
    asked.get_by_role("link", name="lisbon").click()
    expect(page).to_have_url(re.compile("/vault/pages/trips/lisbon.md"))


def test_a_chip_goes_and_an_empty_list_says_what_it_is_for(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    composer(page).press_sequentially("#lis")
    expect(options(page)).to_have_count(1)
    page.keyboard.press("Enter")
    named = page.get_by_role("list", name="About these")
    expect(named).to_be_visible()
    page.keyboard.press("Backspace")
    expect(named).to_have_count(0)
    # Addresses of mail and headings are no names.
    composer(page).press_sequentially("me@example.org # Heading")
    expect(page.get_by_role("listbox")).to_have_count(0)
    page.route("**/documents?*", lambda route: route.fulfill(json={"items": [], "cursor": None}))
    composer(page).fill("")
    composer(page).press_sequentially("@")
    expect(page.get_by_text("There are no files or documents yet.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("There are no files or documents yet.")).to_have_count(0)
    expect(composer(page)).to_be_focused()


def test_an_assistant_is_chosen_where_one_writes_and_stays(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    say(page, "Hello")
    answered(page).wait_for()
    picker = page.get_by_role("button", name="Model:")
    picker.press("Enter")
    search = page.get_by_role("combobox", name="Find a model or an assistant")
    expect(search).to_be_focused()
    expect(options(page)).to_have_count(3)
    expect(options(page).filter(has_text="gpt-4o")).to_contain_text("sees pictures")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "model-picker.png")
    page.keyboard.type("contracts")
    expect(options(page)).to_have_count(1)
    page.keyboard.press("Enter")
    expect(picker).to_have_text(re.compile("Lawyer"))
    expect(picker).to_be_focused()
    page.reload()
    expect(picker).to_have_text(re.compile("Lawyer"))
    (conversation,) = desk.get("/conversations")["items"]
    assert conversation["model"] == "Lawyer"
    say(page, "Is it valid?")
    expect(answered(page)).to_have_count(1)
    picker.click()
    page.get_by_role("option", name="scripted").click()
    expect(picker).to_have_text(re.compile("scripted"))
    assert desk.get("/conversations")["items"][0]["model"] is None


def test_a_long_paste_becomes_a_file_by_choice(desk: Served, new_page: NewPage) -> None:
    page = new_page(own=True)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=desk.url)
    page.goto(desk.url)
    text = "".join(f"line {number}\n" for number in range(5_000)) + "end"
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    composer(page).press_sequentially("Read this: ")
    composer(page).press("Control+v")
    expect(page.get_by_text("You pasted 5,001 lines.")).to_be_visible()
    assert composer(page).input_value() == f"Read this: {text}"
    page.get_by_role("button", name="Attach as a file").click()
    expect(composer(page)).to_have_value("Read this: ")
    files = page.get_by_role("list", name="Files to send")
    expect(files.get_by_role("button", name="Remove: pasted.txt")).to_be_visible()
    assert faults(page) == []
    composer(page).press("Control+v")
    page.get_by_role("button", name="Keep it as text").click()
    expect(page.get_by_text("You pasted")).to_have_count(0)
    assert text in composer(page).input_value()
    # What no field can hold in good time is a file at once.
    composer(page).fill("And this: ")
    page.evaluate("() => navigator.clipboard.writeText('All work and no play. '.repeat(240_000))")
    composer(page).press("Control+v")
    expect(page.get_by_text("it is attached as a file")).to_be_visible()
    expect(files.get_by_role("button", name="Remove: pasted.txt")).to_have_count(2)
    expect(composer(page)).to_have_value("And this: ")


def test_pictures_are_drawn_small_and_opened_large(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    second: FilePayload = {**PICTURE, "name": "second.png"}
    page.get_by_label("Files to attach").set_input_files([PICTURE, second])
    files = page.get_by_role("list", name="Files to send")
    expect(files.locator("canvas[aria-busy=false]")).to_have_count(2)
    composer(page).fill("What is it?")
    # The model that answers is not shown pictures, and says so before.
    expect(page.get_by_text("This model is told the names of pictures")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("Enter")
    answered(page).wait_for()
    expect(page.get_by_role("img", name="second.png")).to_have_attribute("aria-busy", "false")
    # Nothing in the list is decoded in full size.
    expect(page.get_by_role("article", name="You").locator("img")).to_have_count(0)
    page.get_by_role("button", name=re.compile("dot.png")).press("Enter")
    viewer = page.get_by_role("dialog", name="dot.png")
    expect(viewer.get_by_role("img", name="dot.png")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("dialog", name="second.png").get_by_text("2 of 2")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("dot.png"))).to_be_focused()


def test_a_file_that_is_too_large_or_empty_is_refused_at_once(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    # Known once the settings are.
    expect(page.get_by_role("button", name="Model:")).to_be_visible()
    large: FilePayload = {"name": "large.bin", "mimeType": "application/x-thing", "buffer": bytes(100_001)}
    empty: FilePayload = {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""}
    page.get_by_label("Files to attach").set_input_files([large, empty])
    expect(page.get_by_role("alert")).to_have_text(
        ["Too large: 100 kB, at most 100 kB", "Empty, or a folder"]
    )
    expect(page.get_by_role("button", name=re.compile("Try again"))).to_have_count(0)
    assert faults(page) == []
    assert sent == []
    page.get_by_role("button", name="Remove: large.bin").click()
    page.get_by_role("button", name="Remove: empty.txt").click()
    expect(page.get_by_role("list", name="Files to send")).to_have_count(0)


def test_words_are_dictated_where_the_caret_is(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    page.evaluate(MICROPHONE)
    composer(page).fill("Please today")
    for _ in range(5):
        composer(page).press("ArrowLeft")
    page.get_by_role("button", name="Dictate").press("Enter")
    bar = page.get_by_role("group", name="Dictation")
    expect(bar.get_by_role("button", name="Insert")).to_be_focused()
    expect(bar.get_by_role("status")).to_have_text("Listening")
    assert faults(page) == []
    page.screenshot(path=PICTURES / "dictation.png")
    assert HEARD == []
    page.keyboard.press("Enter")
    expect(composer(page)).to_have_value("Please buy oat milk today")
    expect(composer(page)).to_be_focused()
    assert HEARD == ["/v1/audio/transcriptions"]


def test_a_dictation_that_is_given_up_is_sent_nowhere(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    page.evaluate(MICROPHONE)
    page.get_by_role("button", name="Dictate").click()
    expect(page.get_by_role("button", name="Insert")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("group", name="Dictation")).to_have_count(0)
    expect(composer(page)).to_be_focused()
    page.evaluate(DENIED)
    page.get_by_role("button", name="Dictate").click()
    expect(page.get_by_text("The microphone is blocked for this page.")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("Escape")
    expect(composer(page)).to_be_focused()
    assert HEARD == []


def test_an_answer_is_read_aloud_and_stopped(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    say(page, "Which train")
    answered(page).wait_for()
    assert HEARD == []
    with page.expect_response("**/audio/speech"):
        page.get_by_role("button", name="Read aloud").click()
    expect(page.get_by_role("button", name="Stop reading")).to_have_attribute("aria-pressed", "true")
    assert faults(page) == []
    page.get_by_role("button", name="Stop reading").click()
    expect(page.get_by_role("button", name="Read aloud")).to_be_visible()
    assert set(HEARD) == {"/v1/audio/speech"}


def test_an_answer_is_read_aloud_to_its_end(desk: Served, page: Page) -> None:
    page.goto(desk.url)
    say(page, "Which train")
    answered(page).wait_for()
    page.evaluate("() => { AudioBufferSourceNode.prototype.start = function () { this.onended(); } }")
    with page.expect_response("**/audio/speech"):
        page.get_by_role("button", name="Read aloud").click()
    expect(page.get_by_role("button", name="Stop reading")).to_have_count(0)
    expect(page.get_by_role("button", name="Read aloud")).to_have_attribute("aria-pressed", "false")


def test_the_browsers_recognition_is_used_only_by_leave(desk: Served, page: Page) -> None:
    page.route("**/audio", lambda route: route.fulfill(json={"transcription": False, "speech": False}))
    page.goto(desk.url)
    page.evaluate("""() => {
        globalThis.webkitSpeechRecognition = globalThis.SpeechRecognition = class {
            start() {
                globalThis.started = true;
                const said = [{ isFinal: true, 0: { transcript: "hello there" } }];
                queueMicrotask(() => this.onresult({ results: said }));
            }
            stop() { queueMicrotask(() => this.onend()); }
            abort() {}
        };
    }""")
    page.get_by_role("button", name="Dictate").click()
    expect(page.get_by_text("It may send what you say to its maker")).to_be_visible()
    assert page.evaluate("globalThis.started") is None
    assert faults(page) == []
    page.get_by_role("group", name="Dictation").get_by_role("button", name="Dictate").click()
    expect(page.get_by_text("hello there")).to_be_visible()
    page.get_by_role("button", name="Insert").click()
    expect(composer(page)).to_have_value("hello there")


@pytest.mark.parametrize("way", ["phone", "dark", "german"])
def test_the_composer_on_a_phone_in_the_dark_and_in_german(desk: Served, new_page: NewPage, way: str) -> None:
    options_of: dict[str, dict[str, str | bool]] = {
        "phone": {"has_touch": True, "is_mobile": True},
        "dark": {"color_scheme": "dark"},
        "german": {},
    }
    width, height = (390, 844) if way == "phone" else (820, 1180)
    desk.post("/prompts", {"name": "Letter", "text": LETTER})
    page = new_page(width=width, height=height, own=True, **options_of[way])
    if way == "german":
        page.add_init_script("localStorage.setItem('bethink.language', '{\"language\": \"de\"}')")
    page.goto(desk.url)
    field = page.get_by_role("textbox", name="Nachricht" if way == "german" else "Message")
    field.press_sequentially("/")
    expect(options(page).filter(has_text="Letter")).to_be_visible()
    page.screenshot(path=PICTURES / f"composer-{way}.png")
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if way == "german":
        expect(options(page).filter(has_text="Gedächtnis durchsuchen")).to_be_visible()
    if way == "phone":
        sizes = page.locator("form button").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect()).map(box => Math.min(box.width, box.height))"
        )
        assert min(sizes) >= 44
