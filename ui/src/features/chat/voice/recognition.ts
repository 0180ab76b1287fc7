// The browser's own recognition of speech, where it has one. Some browsers send what they hear to their maker.
import { remember, remembered } from "../../../services/store";

type Heard = { results: ArrayLike<{ isFinal: boolean; 0: { transcript: string } }> };
type Recognizer = {
  lang: string;
  continuous: boolean;
  interimResults: boolean;
  onresult: ((event: Heard) => void) | null;
  onerror: ((event: { error: string }) => void) | null;
  onend: (() => void) | null;
  start: () => void;
  stop: () => void;
  abort: () => void;
};
type Maker = new () => Recognizer;

/** What the browser has; null where it has none. */
export function recognizer(): Maker | null {
  const known = globalThis as { SpeechRecognition?: Maker; webkitSpeechRecognition?: Maker };
  return known.SpeechRecognition ?? known.webkitSpeechRecognition ?? null;
}

export type Listening = { end: () => void; discard: () => void };
type Hooks = { onText: (text: string) => void; onEnd: (text: string, error: string) => void };

/** Listens until it is ended; `onEnd` is told once, with what was heard and the browser's code of an error. */
export function listen(make: Maker, language: string, { onText, onEnd }: Hooks): Listening {
  const one = new make();
  let text = "";
  let error = "";
  one.lang = language;
  one.continuous = true;
  one.interimResults = true;
  one.onresult = ({ results }) => {
    text = Array.from(results, (each) => each[0].transcript.trim()).join(" ");
    onText(text);
  };
  one.onerror = (event) => {
    error = event.error;
  };
  one.onend = () => onEnd(text, error);
  one.start();
  return {
    end: () => one.stop(),
    discard: () => {
      one.onend = null;
      one.abort();
    },
  };
}

const KEY = "bethink.recognition";

/** Whether its owner has agreed that the browser may send what it hears to its maker. */
export const isAgreed = (): boolean => remembered(KEY, { agreed: false }).agreed;
export const agree = (): void => remember(KEY, { agreed: true });
