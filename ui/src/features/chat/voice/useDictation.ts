import { useCallback, useEffect, useRef, useState } from "react";
import { audioApi } from "../../../api/audio";
import { asProblem } from "../../../api/client";
import { t } from "../../../i18n";
import { agree, isAgreed, type Listening, listen, recognizer } from "./recognition";
import { type Recording, reasonOf, record } from "./recording";

export type Dictating =
  | { state: "opening" }
  | { state: "asking" }
  | { state: "recording" }
  | { state: "listening"; text: string }
  | { state: "writing" }
  | { state: "failed"; reason: string };

const language = () => navigator.language;

/** Why the browser's recognition heard nothing. */
function recognitionFault(code: string): string {
  if (code === "not-allowed" || code === "service-not-allowed") {
    return reasonOf(new DOMException("", "NotAllowedError"));
  }
  if (code === "network") return t("The browser’s recognition of speech cannot be reached.");
  if (code === "audio-capture") return reasonOf(new DOMException("", "NotFoundError"));
  return t("Nothing was heard.");
}

/** A dictation from the press on: by the server's endpoint where it has one, else by the browser. */
export function useDictation(onText: (text: string) => void) {
  const [now, setNow] = useState<Dictating>({ state: "opening" });
  const recording = useRef<Recording | null>(null);
  const listening = useRef<Listening | null>(null);
  const sending = useRef<AbortController | null>(null);
  const isGone = useRef(false);
  const heard = useRef(onText);
  heard.current = onText;
  const discard = useCallback(() => {
    isGone.current = true;
    recording.current?.discard();
    listening.current?.discard();
    sending.current?.abort();
  }, []);
  const show = useCallback((next: Dictating) => isGone.current || setNow(next), []);
  const byBrowser = useCallback(() => {
    const make = recognizer();
    if (!make) {
      const reason = t(
        "This browser cannot turn speech into text. Set a model for it in Settings, under Speech.",
      );
      return show({ state: "failed", reason });
    }
    if (!isAgreed()) return show({ state: "asking" });
    show({ state: "listening", text: "" });
    listening.current = listen(make, language(), {
      onText: (text) => show({ state: "listening", text }),
      onEnd: (text, code) => {
        if (text) heard.current(text);
        else show({ state: "failed", reason: recognitionFault(code) });
      },
    });
  }, [show]);
  useEffect(() => {
    isGone.current = false;
    const open = async () => {
      const { transcription } = await audioApi.state().catch(() => ({ transcription: false }));
      if (isGone.current) return;
      if (!transcription) return byBrowser();
      try {
        const opened = await record();
        if (isGone.current) return opened.discard();
        recording.current = opened;
        show({ state: "recording" });
      } catch (error) {
        show({ state: "failed", reason: reasonOf(error) });
      }
    };
    void open();
    return discard;
  }, [byBrowser, discard, show]);
  const write = async (content: Blob) => {
    sending.current = new AbortController();
    try {
      const code = language().split("-")[0] ?? "";
      const text = await audioApi.transcribe(content, code, sending.current.signal);
      if (isGone.current) return;
      if (text) heard.current(text);
      else show({ state: "failed", reason: t("Nothing was heard.") });
    } catch (error) {
      const { title, detail } = asProblem(error);
      show({ state: "failed", reason: detail || title });
    }
  };
  const end = async () => {
    listening.current?.end();
    const opened = recording.current;
    recording.current = null;
    if (!opened) return;
    show({ state: "writing" });
    await write(await opened.end());
  };
  const agreed = () => {
    agree();
    byBrowser();
  };
  return { now, end, agreed, level: () => recording.current?.level() ?? 0 };
}
