// Tells what Bethink sends while no page of it is open, and opens the page that it is about.
self.addEventListener("push", (event) => {
  const { id, title = "Bethink", text = "", url } = event.data?.json() ?? {};
  const shown = { body: text, tag: id, icon: "/icon.svg", data: { url } };
  event.waitUntil(self.registration.showNotification(title, shown));
});

async function open(url) {
  // Behind another name the server may not know its own address: its page is here in any case.
  const { pathname, search } = new URL(url || "/today", self.location.origin);
  const address = new URL(pathname + search, self.location.origin);
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const known = pages.find((page) => page.url === address.href) ?? pages[0];
  if (!known) return void (await self.clients.openWindow(address));
  await known.focus();
  if (known.url !== address.href)
    await known.navigate(address).catch(() => self.clients.openWindow(address));
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.url));
});
