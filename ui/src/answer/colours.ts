// Asks the worker for the colours of code; without one, code stays plain.
export type Colour =
  | ""
  | "keyword"
  | "string"
  | "number"
  | "name"
  | "type"
  | "note"
  | "added"
  | "removed";
/** Pieces of a text and their colours. */
export type Coloured = [text: string, colour: Colour][];
/** Only the chunks `from` this one are wanted: the others are known. */
export type ToColour = { id: number; language: string; text: string; lines: number; from: number };

/** Lines that are coloured, drawn and kept together. */
export const CHUNK_LINES = 40;
/** Longer code stays plain: nobody reads it for its colours. */
const MOST_CHARS = 400_000;
/** What has no colours. */
const PLAIN = new Set(["", "text", "txt", "plain", "plaintext", "csv", "output", "log"]);

type Answer = { id: number; chunks: Coloured[] | null };
type Waiting = (chunks: Coloured[] | null) => void;

class Colours {
  #worker: Worker | null = null;
  #waiting = new Map<number, Waiting>();
  #id = 0;

  /** The colours of each chunk of lines `from` one on; null where the language has none. */
  async of(language: string, text: string, from: number): Promise<Coloured[] | null> {
    if (PLAIN.has(language.toLowerCase()) || text.length > MOST_CHARS) return null;
    const worker = this.#started();
    if (!worker) return null;
    this.#id += 1;
    const id = this.#id;
    return await new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      worker.postMessage({ id, language, text, lines: CHUNK_LINES, from } satisfies ToColour);
    });
  }

  #started(): Worker | null {
    if (this.#worker || typeof Worker === "undefined") return this.#worker;
    const worker = new Worker(new URL("./colours.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      this.#waiting.get(data.id)?.(data.chunks);
      this.#waiting.delete(data.id);
    };
    worker.onerror = () => {
      for (const resolve of this.#waiting.values()) resolve(null);
      this.#waiting.clear();
      worker.terminate();
      this.#worker = null;
    };
    this.#worker = worker;
    return worker;
  }
}

export const colours = new Colours();
