// What the whole interface shares, made once in main.tsx.
import { type QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext } from "react";
import type { KeysService } from "../keys/keys";
import type { AccountService } from "./account";
import type { ConversationsService } from "./conversations";
import type { DocumentUploads } from "./documentUploads";
import type { HealthService } from "./health";
import type { LiveConversations } from "./live";
import type { LookService } from "./look";
import type { News } from "./news";
import type { Notices } from "./notices";
import type { Notifications } from "./notifications";
import type { Outbox } from "./outbox";
import type { PaneService } from "./pane";
import type { Router } from "./router";
import type { SessionsService } from "./sessions";
import type { Title } from "./title";
import type { Toasts } from "./toasts";

export type Services = {
  account: AccountService;
  router: Router;
  conversations: ConversationsService;
  sessions: SessionsService;
  /** What is heard of conversations as they change. */
  live: LiveConversations;
  health: HealthService;
  look: LookService;
  /** What is remembered has changed. */
  memoryNews: News;
  /** What the library holds has changed. */
  documentNews: News;
  documentUploads: DocumentUploads;
  /** Tasks, events or schedules have changed. */
  plannerNews: News;
  notices: Notices;
  /** What the system tells while somebody looks elsewhere. */
  notifications: Notifications;
  /** What is written without the server. */
  outbox: Outbox;
  /** What stands beside a conversation. */
  pane: PaneService;
  toasts: Toasts;
  title: Title;
  keys: KeysService;
  /** What the server told, as long as it is shown or may be shown again. */
  answers: QueryClient;
};

const Context = createContext<Services | null>(null);

export function AppProvider({ services, children }: { services: Services; children: ReactNode }) {
  return (
    <QueryClientProvider client={services.answers}>
      <Context value={services}>{children}</Context>
    </QueryClientProvider>
  );
}

export function useApp(): Services {
  const services = useContext(Context);
  if (!services) throw new Error("useApp outside of AppProvider");
  return services;
}
