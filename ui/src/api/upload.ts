// Sending a file. `fetch` tells nothing of how far a body has gone, so it is not used.
import { problemIn, unreachable } from "./client";
import type { ConversationFile, ImportShown } from "./types";

type Going = {
  /** Told how much of the file has gone, 0 to 1. */
  onProgress: (fraction: number) => void;
  signal: AbortSignal;
};

type Sending = { method: string; path: string; headers?: Record<string, string> };

function sent<T>(
  { method, path, headers = {} }: Sending,
  body: FormData | Blob,
  going: Going,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    request.setRequestHeader("accept", "application/json");
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => total && going.onProgress(loaded / total);
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve(JSON.parse(request.responseText));
      else reject(problemIn(request.status, request.responseText));
    };
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new DOMException("Cancelled", "AbortError"));
    going.signal.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

/** What the server answers to a file in a form; throws a `Problem` where it is not taken. */
export function sentFile<T>(
  method: "POST" | "PUT",
  path: string,
  file: File,
  going: Going,
): Promise<T> {
  const body = new FormData();
  body.set("file", file);
  return sent({ method, path }, body, going);
}

/** What the server answers to a part of a file that begins at `offset`. */
export const sentPart = <T>(path: string, offset: number, part: Blob, going: Going): Promise<T> =>
  sent(
    {
      method: "PATCH",
      path,
      headers: {
        "upload-offset": String(offset),
        "content-type": "application/offset+octet-stream",
      },
    },
    part,
    going,
  );

/** The file as the conversation has it; throws a `Problem` where it is not taken. */
export const upload = (conversation: string, file: File, going: Going): Promise<ConversationFile> =>
  sentFile("POST", `/conversations/${encodeURIComponent(conversation)}/files`, file, going);

/** The import that an export begins; throws a `Problem` where it is not taken. */
export const uploadExport = (file: File, going: Going): Promise<ImportShown> =>
  sentFile("POST", "/import", file, going);
