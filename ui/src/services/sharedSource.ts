// One stream of a kind for all tabs of a browser, which has six connections to a server and no more (HTTP/1.1).
// The tab that holds the lock reads the stream and tells the others; when it goes, the next one takes over.
// Where a browser has no locks (a page that came neither by HTTPS nor from this machine), each tab reads its own.
import { CONNECTION_LOST } from "../api/client";

/** What a stream told: `after` is the place that the reader stood at before it. */
export type Told = { data: string; after: string };
type Said = { kind: "asked" } | { kind: "open" } | { kind: "lost" } | ({ kind: "told" } & Told);
export type SourceHooks = {
  /** The address of the stream, from what is known now on. */
  address: () => string;
  /** The place that this tab stands at now. */
  place: () => string;
  /** A stream is heard from now on, another tab's or again: what was told before is to be asked for. */
  onOpen: () => void;
  onTold: (told: Told) => void;
};

/** After so long a stream is asked for again that was refused. */
const AGAIN_MS = 5000;

export class SharedSource {
  /** It is heard what the stream tells, here or by another tab. */
  isOpen = false;
  #channel: BroadcastChannel | null = null;
  #source: EventSource | null = null;
  #after = "";
  #closing = new AbortController();
  readonly #hooks: SourceHooks;

  constructor(name: string, hooks: SourceHooks) {
    this.#hooks = hooks;
    if (!navigator.locks || !("BroadcastChannel" in globalThis)) {
      this.#read();
      return;
    }
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<Said>) => this.#hear(data);
    this.#say({ kind: "asked" });
    const { signal } = this.#closing;
    const lead = () => {
      this.#read();
      // The lock is held until this tab closes the stream, or is gone.
      return new Promise<void>((done) => signal.addEventListener("abort", () => done()));
    };
    navigator.locks.request(name, { signal }, lead).catch(() => undefined);
  }

  close(): void {
    if (this.#source && this.isOpen) this.#say({ kind: "lost" });
    this.#closing.abort();
    this.#source?.close();
    this.#channel?.close();
    this.#channel = null;
    this.isOpen = false;
  }

  #read(): void {
    if (this.#closing.signal.aborted) return;
    this.#after = this.#hooks.place();
    const source = new EventSource(this.#hooks.address());
    this.#source = source;
    source.onopen = () => {
      this.isOpen = true;
      this.#say({ kind: "open" });
      // While it was not heard, something may have changed, and no other request need have failed.
      this.#hooks.onOpen();
    };
    source.onerror = () => {
      this.isOpen = false;
      this.#say({ kind: "lost" });
      dispatchEvent(new Event(CONNECTION_LOST));
      // An answer that is no stream ends it for good: a proxy's, or the server's while it starts.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.#read(), AGAIN_MS);
    };
    source.onmessage = ({ data, lastEventId }) => {
      // A stream that ends by itself says so; the browser asks for the next one.
      if (data === "[DONE]") return;
      const told = { data, after: this.#after };
      this.#after = lastEventId || this.#after;
      this.#say({ kind: "told", ...told });
      this.#hooks.onTold(told);
    };
  }

  #hear(said: Said): void {
    if (said.kind === "asked") {
      if (this.#source && this.isOpen) this.#say({ kind: "open" });
    } else if (this.#source) return;
    else if (said.kind === "lost") {
      this.isOpen = false;
      dispatchEvent(new Event(CONNECTION_LOST));
    } else {
      if (!this.isOpen) this.#hooks.onOpen();
      this.isOpen = true;
      if (said.kind === "told") this.#hooks.onTold(said);
    }
  }

  #say(said: Said): void {
    this.#channel?.postMessage(said);
  }
}
