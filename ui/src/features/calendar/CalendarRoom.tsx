// The calendar: what comes, in a month, a week, a day or as an agenda.
import type { CalendarPlace } from "../../services/router";
import { CalendarPage } from "./CalendarPage";
import { CalendarSettings } from "./CalendarSettings";

export default function CalendarRoom({ place }: { place: CalendarPlace }) {
  return place.view === "settings" ? <CalendarSettings /> : <CalendarPage place={place} />;
}
