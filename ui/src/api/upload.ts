// Sending a file. `fetch` tells nothing of how far a body has gone, so it is not used.
import { problemIn, unreachable } from "./client";
import type { ConversationFile, ImportShown } from "./types";

type Going = {
  /** Told how much of the file has gone, 0 to 1. */
  onProgress: (fraction: number) => void;
  signal: AbortSignal;
};

function sent<T>(path: string, good: number, file: File, going: Going): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("accept", "application/json");
    request.upload.onprogress = ({ loaded, total }) => total && going.onProgress(loaded / total);
    request.onload = () => {
      if (request.status === good) resolve(JSON.parse(request.responseText));
      else reject(problemIn(request.status, request.responseText));
    };
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new DOMException("Cancelled", "AbortError"));
    going.signal.addEventListener("abort", () => request.abort());
    const body = new FormData();
    body.set("file", file);
    request.send(body);
  });
}

/** The file as the conversation has it; throws a `Problem` where it is not taken. */
export const upload = (conversation: string, file: File, going: Going): Promise<ConversationFile> =>
  sent(`/conversations/${encodeURIComponent(conversation)}/files`, 201, file, going);

/** The import that an export begins; throws a `Problem` where it is not taken. */
export const uploadExport = (file: File, going: Going): Promise<ImportShown> =>
  sent("/import", 202, file, going);
