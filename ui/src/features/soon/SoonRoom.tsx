// The page of a room that is not built yet: says what it will be, and what can be done meanwhile.
import { CircleDashed } from "lucide-react";
import type { Room } from "../../services/rooms";

const plans: Partial<Record<Room["id"], { lead: string; points: readonly string[] }>> = {
  documents: {
    lead: "Papers, letters and manuals that answers can quote, page by page.",
    points: [
      "Drop files anywhere and see how far each one is",
      "Collections that a conversation can be pointed at",
      "A viewer that opens at the passage an answer cites",
    ],
  },
  tasks: {
    lead: "What is to be done, written the way you would say it.",
    points: [
      "Quick add in natural words, with due dates understood",
      "A list and a board, both moved by keyboard",
      "Overdue said plainly, without nagging",
    ],
  },
  calendar: {
    lead: "Month, week and agenda, filled by you or by asking.",
    points: [
      "Repeating events described in words",
      "Conflicts shown before they happen",
      "Export and a feed for the calendar you already use",
    ],
  },
};

export default function SoonRoom({ room }: { room: Room }) {
  const plan = plans[room.id];
  const Icon = room.icon;
  return (
    <div className="page scroll">
      <div className="soon">
        <div className="art">
          <Icon size={30} strokeWidth={1.5} aria-hidden />
        </div>
        <div>
          <h1>{room.name}</h1>
          <p className="lead">{plan?.lead}</p>
        </div>
        <span className="chip state">Not built yet</span>
        <ul aria-label="What will be here">
          {plan?.points.map((point) => (
            <li key={point}>
              <CircleDashed size={16} aria-hidden />
              {point}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
