// Sending a file into a conversation. `fetch` tells nothing of how far a body has gone, so it is not used.
import { problemIn, unreachable } from "./client";
import type { ConversationFile } from "./types";

type Going = {
  /** Told how much of the file has gone, 0 to 1. */
  onProgress: (fraction: number) => void;
  signal: AbortSignal;
};

/** The file as the conversation has it; throws a `Problem` where it is not taken. */
export function upload(conversation: string, file: File, going: Going): Promise<ConversationFile> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/conversations/${encodeURIComponent(conversation)}/files`);
    request.setRequestHeader("accept", "application/json");
    request.upload.onprogress = ({ loaded, total }) => total && going.onProgress(loaded / total);
    request.onload = () => {
      if (request.status === 201) resolve(JSON.parse(request.responseText));
      else reject(problemIn(request.status, request.responseText));
    };
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new DOMException("Taken back", "AbortError"));
    going.signal.addEventListener("abort", () => request.abort());
    const body = new FormData();
    body.set("file", file);
    request.send(body);
  });
}
