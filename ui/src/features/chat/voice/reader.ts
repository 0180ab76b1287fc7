// Reading aloud: one text at a time in the whole page, by the server's endpoint where it has one, else by the browser.
import { audioApi } from "../../../api/audio";
import { asProblem, Problem } from "../../../api/client";
import { t } from "../../../i18n";
import { Store } from "../../../services/store";
import { piecesOf, spokenText } from "./spoken";

/** Short pieces begin soon; the next one comes while one is heard. */
const PIECE_CHARS = 400;
/** Some browsers stop in the middle of longer ones. */
const OWN_PIECE_CHARS = 200;

/** The key of what is read aloud now. */
export const reading = new Store<string | null>(null);
let going: AbortController | null = null;

export function stopReading(): void {
  going?.abort();
  going = null;
  reading.set(null);
}

/** Reads a text aloud; ends what was read before. Throws a `Problem` where nothing can. */
export async function readAloud(key: string, markdown: string, language: string): Promise<void> {
  stopReading();
  going = new AbortController();
  const { signal } = going;
  reading.set(key);
  try {
    const { speech } = await audioApi.state().catch(() => ({ speech: false }));
    if (signal.aborted) return;
    const text = spokenText(markdown);
    if (speech) await byEndpoint(piecesOf(text, PIECE_CHARS), signal);
    else await byBrowser(piecesOf(text, OWN_PIECE_CHARS), language, signal);
  } catch (error) {
    if (!signal.aborted) throw asProblem(error);
  } finally {
    if (!signal.aborted) stopReading();
  }
}

async function byEndpoint(pieces: readonly string[], signal: AbortSignal): Promise<void> {
  const context = new AudioContext();
  const sound = async (piece: string) =>
    context.decodeAudioData(await audioApi.speak(piece, signal));
  const quiet = (piece: string | undefined) => {
    const coming = piece ? sound(piece) : null;
    // What goes wrong is told when it is waited for.
    coming?.catch(() => undefined);
    return coming;
  };
  // It is aborted at the end, too, and where something goes wrong.
  signal.addEventListener("abort", () => void context.close());
  let next = quiet(pieces[0]);
  for (let i = 0; next && !signal.aborted; i += 1) {
    const now = await next;
    next = quiet(pieces[i + 1]);
    await played(context, now, signal);
  }
}

function played(context: AudioContext, sound: AudioBuffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const source = context.createBufferSource();
    source.buffer = sound;
    source.connect(context.destination);
    source.onended = () => resolve();
    signal.addEventListener("abort", () => resolve());
    source.start();
  });
}

function byBrowser(
  pieces: readonly string[],
  language: string,
  signal: AbortSignal,
): Promise<void> {
  if (!("speechSynthesis" in globalThis)) {
    throw new Problem(
      "not_installed",
      t("This browser cannot read aloud"),
      t("Set a model for it in Settings, under Speech."),
      501,
    );
  }
  speechSynthesis.cancel();
  signal.addEventListener("abort", () => speechSynthesis.cancel());
  return new Promise((resolve, reject) => {
    const say = (i: number) => {
      const piece = pieces[i];
      if (piece === undefined || signal.aborted) return resolve();
      const utterance = new SpeechSynthesisUtterance(piece);
      utterance.lang = language;
      utterance.onend = () => say(i + 1);
      utterance.onerror = ({ error }) => {
        if (signal.aborted || error === "interrupted" || error === "canceled") resolve();
        else reject(new Problem("speech", t("The browser could not read this aloud"), "", 0));
      };
      speechSynthesis.speak(utterance);
    };
    say(0);
  });
}
