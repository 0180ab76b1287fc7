// A parser of server-sent events for streams that come from `fetch` (which can POST, as EventSource cannot).
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

export type Frame = { id: string | null; data: string };

/** Feeds chunks of text, gives whole frames; a frame cut off at the end of a stream is never given. */
export class FrameParser {
  #rest = "";
  #data: string[] = [];
  #id: string | null = null;
  #started = false;

  push(chunk: string): Frame[] {
    let text = this.#rest + chunk;
    if (!this.#started && text.length > 0) {
      this.#started = true;
      if (text.startsWith("\ufeff")) text = text.slice(1);
    }
    const frames: Frame[] = [];
    // A carriage return at the very end may be the first half of CRLF: it waits.
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const frame = this.#line(line);
      if (frame) frames.push(frame);
    }
    return frames;
  }

  #line(line: string): Frame | null {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #dispatch(): Frame | null {
    const frame = this.#data.length ? { id: this.#id, data: this.#data.join("\n") } : null;
    this.#data = [];
    return frame;
  }
}

/** The frames of a body, as they arrive. */
export async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame[]> {
  const parser = new FrameParser();
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const found = parser.push(value as unknown as string);
      if (found.length) yield found;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
