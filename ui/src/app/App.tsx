import { Compass } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { ChatRoom } from "../features/chat/ChatRoom";
import { LoginPage } from "../features/login/LoginPage";
import { t } from "../i18n";
import { Empty, Link } from "../kit/pieces";
import { Tips } from "../kit/Tips";
import { ToastList } from "../kit/ToastList";
import { useApp } from "../services/context";
import { useFirstRun } from "../services/firstRun";
import { rooms, useRooms } from "../services/rooms";
import { parameterOf, type Route, routeOf } from "../services/router";
import { useStore } from "../services/store";
import { titleOf } from "../services/title";
import { useKey } from "../services/useKey";
import styles from "./App.module.css";
import { Banner } from "./Banner";
import { putAt } from "./focus";
import { Missing } from "./Missing";
import { Outgoing } from "./Outgoing";
import { Palette } from "./Palette";
import { Rail } from "./Rail";

const Incoming = lazy(() => import("./Incoming"));
const Shortcuts = lazy(() => import("./Shortcuts"));
const ArtifactSide = lazy(() => import("../features/artifacts/ArtifactSide"));
const MemoryRoom = lazy(() => import("../features/memory/MemoryRoom"));
const SettingsRoom = lazy(() => import("../features/settings/SettingsRoom"));
const SetupRoom = lazy(() => import("../features/settings/setup/SetupRoom"));
const VaultRoom = lazy(() => import("../features/vault/VaultRoom"));
const DocumentsRoom = lazy(() => import("../features/documents/DocumentsRoom"));
const TasksRoom = lazy(() => import("../features/tasks/TasksRoom"));
const CalendarRoom = lazy(() => import("../features/calendar/CalendarRoom"));
const SchedulesRoom = lazy(() => import("../features/schedules/SchedulesRoom"));
const ConsentPage = lazy(() => import("../features/login/ConsentPage"));
const PromptsRoom = lazy(() => import("../features/prompts/PromptsRoom"));
const TodayRoom = lazy(() => import("../features/today/TodayRoom"));

/** Where another program sends its user, to be let in. */
const ASKING = "/authorize";

/** What an answer made, beside its conversation. */
function Beside({ conversation }: { conversation: string | null }) {
  const { pane } = useApp();
  if (!useStore(pane.store)) return null;
  return (
    <Suspense fallback={null}>
      <ArtifactSide conversation={conversation} />
    </Suspense>
  );
}

function Shown({ route }: { route: Route }) {
  switch (route.room) {
    case "chat":
      return (
        <>
          <ChatRoom {...route} />
          <Beside conversation={route.conversation} />
        </>
      );
    case "memory":
      return <MemoryRoom memory={route.memory} />;
    case "settings":
      return <SettingsRoom page={route.page} setting={route.setting} />;
    case "setup":
      return <SetupRoom step={route.step} />;
    case "vault":
      return <VaultRoom page={route.page} view={route.view} />;
    case "documents":
      return <DocumentsRoom place={route} />;
    case "tasks":
      return <TasksRoom place={route} />;
    case "calendar":
      return <CalendarRoom place={route} />;
    case "schedules":
      return <SchedulesRoom schedule={route.schedule} />;
    case "today":
      return <TodayRoom />;
    case "prompts":
      return <PromptsRoom prompt={route.prompt} />;
    case "lost":
      return (
        <div className="page">
          <h1 className="visually-hidden">{t("Not found")}</h1>
          <Empty icon={Compass} title={t("Page not found")}>
            <p>{t("It may have been deleted, or the link is incomplete.")}</p>
            <Link className="button" to="/">
              {t("Go to Chat")}
            </Link>
          </Empty>
        </div>
      );
  }
}

function RoomKeys() {
  const { router, toasts } = useApp();
  const here = useRooms();
  const [first, ...others] = rooms;
  useKey("go-chat", () => router.go(first?.path ?? "/"));
  for (const room of others) {
    // biome-ignore lint/correctness/useHookAtTopLevel: the rooms never change in number or order
    useKey(room.key, () => here.includes(room) && router.go(room.path));
  }
  useKey("undo", toasts.takeBack);
  return null;
}

/** Has the tab tell what is shown, and how many other conversations wait for somebody. */
function useTabTitle(route: Route): void {
  const { title, conversations, live } = useApp();
  const names = useStore(title.names);
  const waits = new Set([...useStore(conversations.needing), ...useStore(live.answered)]);
  // Its own name says what the one that is open waits for.
  if (route.room === "chat" && route.conversation) waits.delete(route.conversation);
  const waiting = waits.size;
  const room = rooms.find(({ id }) => id === route.room)?.name ?? "";
  const name = route.room === "chat" ? "" : room;
  useEffect(() => {
    document.title = titleOf(names, name, waiting);
  }, [names, name, waiting]);
}

export function App() {
  const { router, account } = useApp();
  const session = useStore(account.session);
  const path = useStore(router.path);
  const [open, setOpen] = useState<"palette" | "shortcuts" | null>(null);
  const route = routeOf(path);
  useTabTitle(route);
  const close = () => setOpen(null);
  useFirstRun(path);
  useKey("palette", () => setOpen("palette"));
  useKey("shortcuts", () => setOpen("shortcuts"));
  useKey("new", () => {
    setOpen(null);
    router.go("/");
  });
  useKey("temporary", () => {
    setOpen(null);
    router.go("/temporary");
  });
  useEffect(() => {
    if (account.tookIn() && document.activeElement === document.body) {
      putAt(document.getElementById("main"));
    }
  }, [account]);
  if (session?.needed && !session.user) return <LoginPage />;
  if (path.startsWith(ASKING)) {
    return (
      <Missing>
        <Suspense fallback={null}>
          <ConsentPage />
        </Suspense>
      </Missing>
    );
  }
  return (
    <div className={`${styles.shell} print-flow`}>
      <a className="skip" href="#main">
        {t("Skip to content")}
      </a>
      <RoomKeys />
      <Rail current={route.room === "setup" ? "settings" : route.room} />
      <div className={styles.banners}>
        <Banner />
        <Outgoing />
      </div>
      <main id="main" className={`${styles.room} print-flow`} tabIndex={-1}>
        <Missing key={route.room}>
          <Suspense fallback={null}>
            <Shown route={route} />
          </Suspense>
        </Missing>
      </main>
      {open === "palette" && <Palette onClose={close} onShortcuts={() => setOpen("shortcuts")} />}
      {open === "shortcuts" && (
        <Suspense fallback={null}>
          <Shortcuts onClose={close} />
        </Suspense>
      )}
      {parameterOf(path, "shared") && (
        <Suspense fallback={null}>
          <Incoming />
        </Suspense>
      )}
      <ToastList />
      <Tips />
    </div>
  );
}
