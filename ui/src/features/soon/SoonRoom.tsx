// The page of a room that is not built yet: says what it will be, and what can be done meanwhile.
import { CircleDashed } from "lucide-react";
import type { Room } from "../../services/rooms";

const plans: Partial<Record<Room["id"], { lead: string; points: readonly string[] }>> = {
  tasks: {
    lead: "Tasks, written the way you say them.",
    points: [
      "Quick add in natural language, with due dates",
      "List and board, with keyboard control",
      "Overdue tasks shown clearly",
    ],
  },
  calendar: {
    lead: "Month, week and agenda.",
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
        <span className="chip state">Not available yet</span>
        <ul aria-label="Planned">
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
