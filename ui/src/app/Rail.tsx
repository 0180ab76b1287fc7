import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { t } from "../i18n";
import { Dialog } from "../kit/Dialog";
import { Link, PHONE, useMedia } from "../kit/pieces";
import { useApp } from "../services/context";
import { type Room, useRooms } from "../services/rooms";
import { useStore } from "../services/store";
import styles from "./Rail.module.css";

/** Rooms that stay on a phone's rail; the others are one touch further. */
const FIRST_ON_PHONE = ["chat", "today", "memory", "settings"];

function Mark() {
  return (
    <svg
      width="26"
      height="26"
      viewBox="0 0 32 32"
      fill="none"
      stroke="currentColor"
      aria-hidden="true"
    >
      <path
        d="M9 5v21M9 15.6c1.5-3.1 3.9-4.8 7-4.8 4.4 0 7.5 3.2 7.5 7.6S20.4 26 16 26c-3.1 0-5.5-1.6-7-4.7"
        strokeWidth="2.4"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
      <circle cx="16" cy="18.4" r="1.8" fill="currentColor" stroke="none" />
    </svg>
  );
}

/** How much of a room waits for somebody. */
function RoomNumber({ number, says }: { number: number; says: string }) {
  if (number === 0) return null;
  return (
    <span className={styles.number}>
      <span aria-hidden>{number > 99 ? "99+" : number}</span>
      <span className="visually-hidden"> {says}</span>
    </span>
  );
}

function NoticesNumber() {
  const number = useStore(useApp().notices.unseen).length;
  const says = t("{count, plural, one {# new notice} other {# new notices}}", { count: number });
  return <RoomNumber number={number} says={says} />;
}

/** Conversations that wait for a decision, and answers that ended while something else was looked at. */
function ChatNumber() {
  const { conversations, live } = useApp();
  const needing = useStore(conversations.needing);
  const answered = useStore(live.answered).filter((id) => !needing.includes(id)).length;
  const says = [
    needing.length &&
      t("{count, plural, one {# needs you} other {# need you}}", { count: needing.length }),
    answered && t("{count, plural, one {# new answer} other {# new answers}}", { count: answered }),
  ];
  return <RoomNumber number={needing.length + answered} says={says.filter(Boolean).join(", ")} />;
}

function RoomLink({
  room,
  current,
  onClick,
}: {
  room: Room;
  current: string;
  onClick?: () => void;
}) {
  const { health } = useApp();
  const { icon: Icon, name, path, id } = room;
  const vitals = useStore(health.store);
  const degraded = id === "settings" && vitals.health?.status === "degraded";
  return (
    <Link
      className={styles.room}
      to={path}
      aria-current={current === id ? "page" : undefined}
      onClick={onClick}
    >
      <Icon size={20} strokeWidth={1.75} aria-hidden />
      {name}
      {id === "chat" && <ChatNumber />}
      {id === "today" && <NoticesNumber />}
      {degraded && (
        <span className={styles.dot}>
          <span className="visually-hidden">, {t("something needs attention")}</span>
        </span>
      )}
    </Link>
  );
}

export function Rail({ current }: { current: string }) {
  const phone = useMedia(PHONE);
  const [more, setMore] = useState(false);
  const rooms = useRooms();
  const shown = phone ? rooms.filter((room) => FIRST_ON_PHONE.includes(room.id)) : rooms;
  const rest = rooms.filter((room) => !shown.includes(room));
  return (
    <nav className={`${styles.rail} print-hidden`} aria-label={t("Rooms")}>
      <Link className={styles.mark} to="/" aria-label={t("Bethink, new chat")}>
        <Mark />
      </Link>
      <ul>
        {shown.map((room) => (
          <li key={room.id}>
            <RoomLink room={room} current={current} />
          </li>
        ))}
        {phone && (
          <li>
            <button
              type="button"
              className={styles.room}
              aria-expanded={more}
              aria-current={rest.some((room) => room.id === current) ? "page" : undefined}
              onClick={() => setMore(true)}
            >
              <Ellipsis size={20} strokeWidth={1.75} aria-hidden />
              {t("More")}
            </button>
          </li>
        )}
      </ul>
      {more && (
        <Dialog
          title={t("More rooms")}
          className="sheet-dialog foot"
          onClose={() => setMore(false)}
        >
          <ul className={styles.more}>
            {rest.map((room) => (
              <li key={room.id}>
                <RoomLink room={room} current={current} onClick={() => setMore(false)} />
              </li>
            ))}
          </ul>
        </Dialog>
      )}
    </nav>
  );
}
