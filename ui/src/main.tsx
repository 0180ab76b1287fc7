// Makes the services, wires them, draws the page.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { KeysService } from "./keys/keys";
import { AccountService } from "./services/account";
import { AppProvider, type Services } from "./services/context";
import { ConversationsService } from "./services/conversations";
import { HealthService } from "./services/health";
import { LookService } from "./services/look";
import { addressOfChat, Router, routeOf } from "./services/router";
import { SessionsService } from "./services/sessions";
import { Toasts } from "./services/toasts";
import "./styles/tokens.css";
import "./styles/ground.css";
import "./styles/kit.css";
import "./styles/shell.css";
import "./styles/chat.css";
import "./styles/answer.css";
import "./styles/files.css";
import "./styles/rooms.css";
import "./styles/tools.css";
import "./styles/keys.css";

const router = new Router();
const conversations = new ConversationsService();
const services: Services = {
  account: new AccountService(),
  router,
  conversations,
  sessions: new SessionsService({
    onConversation: conversations.put,
    onCreated: (id) => {
      const route = routeOf(router.path.get());
      if (route.room === "chat" && !route.conversation) router.go(addressOfChat(id), true);
    },
    onFault: (problem) => services.toasts.fault(problem),
  }),
  health: new HealthService(),
  look: new LookService(),
  toasts: new Toasts(),
  keys: new KeysService(),
};
services.account.start();
services.health.start();
services.keys.start();

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <AppProvider services={services}>
        <App />
      </AppProvider>
    </StrictMode>,
  );
}
