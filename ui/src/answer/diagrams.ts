// Has Mermaid draw, in a frame that can neither load nor reach anything; the page gets pictures from it, never markup.
declare const FRAMES: { diagrams: string };

export type Picture = { svg: string; width: number; height: number };
export type Theme = { darkMode: boolean; themeVariables: Record<string, string> };
type Answer = { ready?: true; id?: number } & (Partial<Picture> & { fault?: string });

/** A diagram that takes longer hangs: its frame is thrown away. */
const PATIENCE_MS = 15_000;
/** Pictures that are kept, so that nothing is drawn twice while somebody scrolls. */
const KEPT = 60;

class Diagrams {
  #frame: HTMLIFrameElement | null = null;
  #ready: Promise<void> = Promise.resolve();
  #id = 0;
  #answers = new Map<number, (answer: Answer) => void>();
  #kept = new Map<string, Promise<Picture>>();
  #onReady = () => {};

  /** The picture of a diagram. Throws an `Error` that says what is wrong with it. */
  drawn(source: string, theme: Theme): Promise<Picture> {
    const key = JSON.stringify([source, theme]);
    const known = this.#kept.get(key);
    if (known) return known;
    const picture = this.#draw(source, theme);
    this.#kept.set(key, picture);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT && oldest) this.#kept.delete(oldest);
    return picture;
  }

  async #draw(source: string, theme: Theme): Promise<Picture> {
    const frame = this.#opened();
    this.#id += 1;
    const id = this.#id;
    const answer = new Promise<Answer>((resolve) => {
      this.#answers.set(id, resolve);
      setTimeout(() => this.#answers.has(id) && this.#giveUp(), PATIENCE_MS);
    });
    void this.#ready.then(() => frame.contentWindow?.postMessage({ id, source, theme }, "*"));
    const { svg, width = 0, height = 0, fault } = await answer;
    if (!svg) throw new Error(fault);
    return { svg, width, height };
  }

  #opened(): HTMLIFrameElement {
    if (this.#frame) return this.#frame;
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.src = FRAMES.diagrams;
    frame.title = "Diagrams";
    frame.tabIndex = -1;
    frame.ariaHidden = "true";
    // It has to be laid out, or nothing in it has a size.
    Object.assign(frame.style, {
      position: "fixed",
      inlineSize: "1200px",
      blockSize: "800px",
      insetInlineStart: "-3000px",
      visibility: "hidden",
      border: "0",
    });
    this.#ready = new Promise((resolve) => {
      this.#onReady = resolve;
    });
    addEventListener("message", this.#hear);
    document.body.append(frame);
    this.#frame = frame;
    return frame;
  }

  #hear = ({ source, data }: MessageEvent<Answer>): void => {
    if (!this.#frame || source !== this.#frame.contentWindow) return;
    if (data.ready) this.#onReady();
    if (data.id === undefined) return;
    this.#answers.get(data.id)?.(data);
    this.#answers.delete(data.id);
  };

  #giveUp(): void {
    this.#frame?.remove();
    this.#frame = null;
    removeEventListener("message", this.#hear);
    for (const resolve of this.#answers.values()) resolve({ fault: "" });
    this.#answers.clear();
    this.#kept.clear();
  }
}

export const diagrams = new Diagrams();

/** A picture's address; as a picture it runs nothing and loads nothing. */
export const addressOf = (svg: string): string =>
  `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;

/** How many pixels of a PNG are one of the picture. */
const SCALE = 2;

/** The picture as PNG, on paper of a colour. */
export async function pngOf({ svg, width, height }: Picture, paper: string): Promise<Blob> {
  const image = new Image();
  image.src = addressOf(svg);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * SCALE);
  canvas.height = Math.ceil(height * SCALE);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("no canvas");
  context.fillStyle = paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return await new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
  });
}
