// Speech to text, and text to speech, by the endpoint that the server knows.
import type { AudioShown, Transcript } from "../contract/openapi";
import { json, request } from "./client";

export const audioApi = {
  state: () => json<AudioShown>("GET", "/audio"),
  transcribe: async (recording: Blob, language: string, signal: AbortSignal): Promise<string> => {
    const body = new FormData();
    const ending = recording.type.includes("mp4") ? "mp4" : "webm";
    body.set("file", new File([recording], `dictation.${ending}`, { type: recording.type }));
    body.set("language", language);
    const answer = await request("/audio/transcriptions", {
      method: "POST",
      headers: { accept: "application/json" },
      body,
      signal,
    });
    return ((await answer.json()) as Transcript).text;
  },
  speak: async (input: string, signal: AbortSignal): Promise<ArrayBuffer> => {
    const answer = await request("/audio/speech", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ input }),
      signal,
    });
    return await answer.arrayBuffer();
  },
};
