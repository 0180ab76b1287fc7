// The stream of one run's events over HTTP: sent with a POST, or followed; mended when it breaks.

import { asProblem, CONNECTION_BACK, CONNECTION_LOST, Problem, request } from "../api/client";
import type { ContractEvent } from "../api/types";
import { t } from "../i18n";
import { frames } from "./sse";
import { streamPlace } from "./streamPlace";

export type Arrived = { event: ContractEvent; id: string | null };
export type LinkState = "live" | "reconnecting";

const stream = { accept: "text/event-stream" };
const PAUSES_MS = [300, 1000, 2000, 4000, 8000];

/** Where a message is to stand, when that is not behind the last one. */
export type Place = { edit: string } | { parent: string } | { regenerate: string };
type Words = { text: string; files: readonly string[]; untrusted?: boolean | undefined };

export type Opening =
  | { conversation: string; said: Words | null; place?: Place | undefined }
  | { run: string; after: string | null };

function open(opening: Opening, signal: AbortSignal): Promise<Response> {
  if ("run" in opening) {
    const headers: Record<string, string> = { ...stream };
    if (opening.after) headers["last-event-id"] = opening.after;
    return request(`/runs/${encodeURIComponent(opening.run)}/events`, { headers, signal });
  }
  const { said } = opening;
  return request(`/conversations/${encodeURIComponent(opening.conversation)}/chat`, {
    method: "POST",
    headers: { ...stream, "content-type": "application/json" },
    body: JSON.stringify({
      ...(said && {
        message: {
          role: "user",
          content: said.text,
          attachments: said.files,
          untrusted: said.untrusted,
        },
      }),
      ...opening.place,
      stream: true,
    }),
    signal,
  });
}

/** Waits, but not past the moment the network or the server comes back. */
function pause(attempt: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      removeEventListener(CONNECTION_BACK, done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)]);
    addEventListener("online", done);
    addEventListener(CONNECTION_BACK, done);
    signal.addEventListener("abort", done);
  });
}

/** How often a stream may break without bringing anything new before it is given up. */
const FRUITLESS = 5;

async function reopen(opening: Opening, fruitless: number, signal: AbortSignal): Promise<Response> {
  for (let attempt = fruitless; ; attempt += 1) {
    await pause(attempt, signal);
    signal.throwIfAborted();
    try {
      return await open(opening, signal);
    } catch (error) {
      // An answer of the server's is final (the run is gone); silence is not.
      if (signal.aborted || asProblem(error).status >= 400) throw error;
    }
  }
}

function parsed(data: string): ContractEvent | null {
  try {
    const event: unknown = JSON.parse(data);
    return event && typeof event === "object" && "kind" in event ? (event as ContractEvent) : null;
  } catch {
    return null;
  }
}

/** How long nothing may come before a tab without a place leaves the stream that it looks in on. */
const QUIET_MS = 300;

/** The events of a run in batches, until its stream says it is done. A broken stream is continued. */
export async function* events(
  opening: Opening,
  signal: AbortSignal,
  onLink: (state: LinkState) => void,
): AsyncGenerator<readonly Arrived[]> {
  let leave = await streamPlace();
  try {
    let run = "run" in opening ? opening.run : null;
    let after = "run" in opening ? opening.after : null;
    let visit = new AbortController();
    let response = await open(opening, AbortSignal.any([signal, visit.signal]));
    for (let fruitless = 0; ; fruitless += 1) {
      onLink("live");
      let quiet: ReturnType<typeof setTimeout> | undefined;
      const lookIn = () => {
        clearTimeout(quiet);
        if (!leave && run) quiet = setTimeout(() => visit.abort(), QUIET_MS);
      };
      lookIn();
      try {
        for await (const batch of frames(response.body as ReadableStream<Uint8Array>)) {
          const arrived: Arrived[] = [];
          let done = false;
          for (const frame of batch) {
            done ||= frame.data === "[DONE]";
            const event = parsed(frame.data);
            if (!event) continue;
            if (event.kind === "run_started") run = event.run;
            if (frame.id && frame.id !== after) {
              after = frame.id;
              fruitless = 0;
            }
            arrived.push({ event, id: frame.id });
          }
          if (arrived.length) yield arrived;
          if (done) return;
          lookIn();
        }
      } catch (error) {
        if (signal.aborted) throw error;
      } finally {
        clearTimeout(quiet);
      }
      if (!run || fruitless > FRUITLESS) {
        throw new Problem("cut", t("The connection was lost"), t("Send the message again."), 0);
      }
      if (visit.signal.aborted) {
        fruitless = 0;
        leave = await streamPlace();
      } else {
        onLink("reconnecting");
        dispatchEvent(new Event(CONNECTION_LOST));
      }
      visit = new AbortController();
      const either = AbortSignal.any([signal, visit.signal]);
      response = await reopen({ run, after }, fruitless, either);
    }
  } finally {
    leave?.();
  }
}
