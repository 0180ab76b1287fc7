// A recording by the browser: begun by a press, with its level, ended or thrown away.
import { t } from "../../../i18n";

export type Recording = {
  /** How loud it is now, 0 to 1. */
  level: () => number;
  /** Ends it; what was recorded. */
  end: () => Promise<Blob>;
  /** Throws it away. */
  discard: () => void;
};

const KINDS = ["audio/webm;codecs=opus", "audio/webm", "audio/mp4"];
/** Loudness of speech near a microphone; twice of it fills the meter. */
const SPEECH = 0.12;

/** Why there is no recording, as a sentence. */
export function reasonOf(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError" || name === "SecurityError") {
    return t(
      "The microphone is blocked for this page. Allow it in your browser’s settings for this address, and try again.",
    );
  }
  if (name === "NotFoundError") return t("There is no microphone. Connect one, and try again.");
  if (name === "NotReadableError") return t("Another program uses the microphone.");
  return t("The microphone could not be opened.");
}

/** Opens the microphone, which asks its owner the first time. */
export async function record(): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  analyser.fftSize = 512;
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const kind = KINDS.find((each) => MediaRecorder.isTypeSupported(each));
  const recorder = new MediaRecorder(stream, kind ? { mimeType: kind } : {});
  const parts: Blob[] = [];
  recorder.ondataavailable = ({ data }) => parts.push(data);
  recorder.start();
  const close = () => {
    for (const track of stream.getTracks()) track.stop();
    void context.close();
  };
  return {
    level: () => {
      analyser.getFloatTimeDomainData(samples);
      const power = samples.reduce((sum, each) => sum + each * each, 0) / samples.length;
      return Math.min(1, Math.sqrt(power) / (2 * SPEECH));
    },
    end: () =>
      new Promise((resolve) => {
        recorder.onstop = () => {
          close();
          resolve(new Blob(parts, { type: recorder.mimeType }));
        };
        recorder.stop();
      }),
    discard: () => {
      recorder.onstop = null;
      if (recorder.state !== "inactive") recorder.stop();
      close();
    },
  };
}
