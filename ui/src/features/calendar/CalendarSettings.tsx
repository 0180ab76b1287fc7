// Other calendars: what is imported, subscribed to and synchronised.
import { ArrowLeft } from "lucide-react";
import { Link } from "../../kit/pieces";

export function CalendarSettings() {
  return (
    <div className="page scroll">
      <div className="page-inner">
        <header className="page-head">
          <Link className="icon-button" to="/calendar" aria-label="Back to the calendar">
            <ArrowLeft size={18} aria-hidden />
          </Link>
          <h1>Other calendars</h1>
        </header>
      </div>
    </div>
  );
}
