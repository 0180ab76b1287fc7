// Makes the services, wires them, draws the page.
// What is common to all comes first: a component's own styles win over it.
import { DirectionProvider } from "@base-ui/react/direction-provider";
import "./styles/fonts.css";
import "./styles/tokens.css";
import "./styles/ground.css";
import "./styles/kit.css";

import { QueryClient } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { keepFocus } from "./app/focus";
import { told } from "./app/Missing";
import { keepPlace } from "./app/place";
import { startLanguage, t } from "./i18n";
import { KeysService } from "./keys/keys";
import type { SessionHooks } from "./run/session";
import { AccountService } from "./services/account";
import { AppProvider, type Services } from "./services/context";
import { ConversationsService } from "./services/conversations";
import { DocumentUploads } from "./services/documentUploads";
import { HealthService } from "./services/health";
import { BrowserFiles } from "./services/keptFiles";
import { KeptWords } from "./services/keptWords";
import { LiveConversations } from "./services/live";
import { LookService } from "./services/look";
import { News } from "./services/news";
import { Notices } from "./services/notices";
import { Notifications } from "./services/notifications";
import { Outbox } from "./services/outbox";
import { PaneService } from "./services/pane";
import { addressOfChat, Router, routeOf } from "./services/router";
import { SessionsService } from "./services/sessions";
import { keepShell } from "./services/shell";
import { Title } from "./services/title";
import { Toasts } from "./services/toasts";
import "./styles/print.css";

const router = new Router();
const conversations = new ConversationsService();
const memoryNews = new News();
const documentNews = new News();
const plannerNews = new News();
const documentUploads = new DocumentUploads({
  api: () => import("./api/documents").then(({ uploadsApi }) => uploadsApi),
  kept: new BrowserFiles(() => account.ready.then(owner)),
  onDone: () => void documentNews.tell(),
});
const toasts = new Toasts();
const notifications = new Notifications(toasts);
const live = new LiveConversations({
  conversations,
  sessions: () => services.sessions,
  router,
  notifications,
});
const notices = new Notices(router, toasts, () => void plannerNews.tell());
const health = new HealthService();
const account = new AccountService();
/** Whoever has a link to a conversation needs nothing but what it shows. */
const isShared = location.pathname.startsWith("/share/");
if (!isShared) account.start(health.store);
account.leaving.hear(() => services.sessions.forgetWords());
account.leaving.hear(documentUploads.forget);
account.leaving.hear(notices.stop);
account.leaving.hear(live.stop);
account.leaving.hear(() => outbox.forget());
const owner = () => account.owner;
const outbox = new Outbox({
  owner,
  ready: account.ready,
  onSent: ({ words: sent }) => {
    toasts.show(t("Sent: {words}", { words: sent }));
    void plannerNews.tell();
  },
});
const words = new KeptWords(sessionStorage, owner, account.ready);
const hooks: SessionHooks = {
  asking: conversations.asking,
  onCreated: (id, temporary) => {
    const route = routeOf(router.path.get());
    const isHere = route.room === "chat" && !route.conversation && route.temporary === temporary;
    if (isHere) router.go(addressOfChat(id), true);
  },
  onMemory: () => void memoryNews.tell(),
  onFault: (problem) => toasts.fault(problem),
};
const services: Services = {
  account,
  router,
  conversations,
  sessions: new SessionsService(hooks, words),
  live,
  health,
  look: new LookService(),
  memoryNews,
  documentNews,
  documentUploads,
  plannerNews,
  notices,
  notifications,
  outbox,
  pane: new PaneService(),
  toasts,
  title: new Title(),
  keys: new KeysService(),
  answers: new QueryClient({
    // A read that failed says so, with a button; that somebody is offline is told of by the page.
    defaultOptions: { queries: { retry: false, networkMode: "always" } },
  }),
};
void account.ready.then(() => {
  const session = account.session.get();
  if (!session || (session.needed && !session.user)) return;
  notices.start();
  live.start();
});
if (!isShared) {
  services.health.start();
  services.keys.start();
  void documentUploads.takeUp();
  keepShell(toasts);
  outbox.start();
}
keepFocus();
keepPlace(router);
addEventListener("beforeunload", (event) => {
  if (services.sessions.holdUnsent) event.preventDefault();
});

const WARM_MS = 3000;
const root = document.getElementById("root");
if (root) {
  await startLanguage();
  const SharedPage = isShared ? (await import("./app/SharedPage")).default : null;
  createRoot(root, { onCaughtError: told }).render(
    <StrictMode>
      <DirectionProvider direction={document.dir === "rtl" ? "rtl" : "ltr"}>
        <AppProvider services={services}>{SharedPage ? <SharedPage /> : <App />}</AppProvider>
      </DirectionProvider>
    </StrictMode>,
  );
  // What a first key press or click opens is there by then; what did not come is asked for once it is opened.
  const warm = () =>
    void Promise.allSettled([import("./app/Shortcuts"), import("./kit/MenuPopup")]);
  if ("requestIdleCallback" in globalThis) requestIdleCallback(warm, { timeout: WARM_MS });
  else setTimeout(warm, WARM_MS);
}
