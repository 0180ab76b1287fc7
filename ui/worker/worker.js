// Shows the page where the server cannot be reached, takes in what other programs share, and tells of pushes.
// It keeps files of the build alone: no answer of the API, nothing of anybody's, goes through it.
importScripts("/push.js");

/** Written by scripts/worker.mjs: what this build is called, and what of it is kept from the start. */
const BUILD = { version: "", files: [] };
const PREFIX = "bethink-shell ";
const SHELL = PREFIX + BUILD.version;
/** How long a server may take for the page's frame before the kept one is shown. */
const PATIENCE_MS = 4000;
/** Addresses that are rooms of the page; all others are none of its business. */
const ROOMS =
  /^\/(?:$|(?:temporary|c|setup|memory|settings|vault|documents|tasks|calendar|schedules|today)(?:\/|$))/;
const DOWNLOADS = /^\/documents\/[^/]+\/file/;

/** Keeps a file; one whose name tells its content is not asked for if an older build has it. */
async function take(cache, file) {
  const isNamed = file.startsWith("/assets/");
  const kept = isNamed && (await caches.match(file));
  if (kept) await cache.put(file, kept);
  else
    await cache.add(
      new Request(file, { cache: isNamed ? "default" : "no-cache", priority: "low" }),
    );
}

self.addEventListener("install", (event) => {
  const keep = async () => {
    const cache = await caches.open(SHELL);
    // One after the other: together they would stand before the first message in the line to the server.
    for (const file of BUILD.files) await take(cache, file);
    // Nothing waits: a frame that is shown by an older build finds its files in the cache of that build.
    await self.skipWaiting();
  };
  event.waitUntil(keep());
});

self.addEventListener("activate", (event) => {
  const tidy = async () => {
    const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX));
    // In the order in which they were made: the last one before this may still be shown in a tab.
    const old = names.filter((name) => name !== SHELL).slice(0, -1);
    await Promise.all(old.map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(tidy());
});

/** The page's frame: the server's if it answers, else the kept one. */
async function frame(request) {
  const kept = await caches.match("/", { cacheName: SHELL });
  const asked = fetch(request);
  if (!kept) return asked;
  const late = new Promise((done) => setTimeout(done, PATIENCE_MS, kept));
  return Promise.race([asked.catch(() => kept), late]);
}

/** A file of a build never changes: kept once, it is never asked for again. */
async function asset(request) {
  const kept = await caches.match(request);
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok) {
    const copy = response.clone();
    void caches.open(SHELL).then((cache) => cache.put(request, copy).catch(() => undefined));
  }
  return response;
}

/** Files of fixed names are the server's if it answers. */
const fixed = (request) =>
  fetch(request).catch(async (error) => {
    const kept = await caches.match(request, { cacheName: SHELL });
    if (kept) return kept;
    throw error;
  });

/** Keeps what another program shares until the page asks for it. */
async function share(request) {
  const form = await request.formData();
  const text = ["title", "text", "url"].map((name) => form.get(name)).filter(Boolean);
  const shared = { text: [...new Set(text)].join("\n"), files: form.getAll("files") };
  const opened = indexedDB.open("bethink-shared", 1);
  opened.onupgradeneeded = () => opened.result.createObjectStore("shared", { autoIncrement: true });
  await new Promise((done, fail) => {
    opened.onerror = () => fail(opened.error);
    opened.onsuccess = () => {
      const writing = opened.result.transaction("shared", "readwrite");
      writing.objectStore("shared").add(shared);
      writing.oncomplete = done;
      writing.onabort = () => fail(writing.error);
    };
  });
  opened.result.close();
  return Response.redirect("/?shared=1", 303);
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== self.location.origin) return;
  if (request.method === "POST" && pathname === "/share") event.respondWith(share(request));
  if (request.method !== "GET") return;
  const isRoom = ROOMS.test(pathname) && !DOWNLOADS.test(pathname);
  if (request.mode === "navigate" && isRoom) event.respondWith(frame(request));
  else if (request.mode === "navigate") return;
  else if (pathname.startsWith("/assets/")) event.respondWith(asset(request));
  else if (pathname !== "/" && BUILD.files.includes(pathname)) event.respondWith(fixed(request));
});
