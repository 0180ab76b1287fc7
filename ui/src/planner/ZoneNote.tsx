import { useEffect, useState } from "react";
import { api } from "../api/client";
import { t } from "../i18n";
import { browserZone, inZone } from "../services/days";

/** Says so if times in words are read by another clock than this browser's. */
export function ZoneNote() {
  const [zone, setZone] = useState("");
  useEffect(() => {
    let isHere = true;
    api.settings().then(
      (settings) => isHere && setZone(settings.time_zone),
      () => undefined,
    );
    return () => {
      isHere = false;
    };
  }, []);
  const now = new Date();
  if (!zone || inZone(now, zone) === inZone(now, browserZone())) return null;
  return (
    <p className="zone-note">
      {t(
        "Times in words are read by the clock in {zone}; this browser is in {browserzone}. Start Bethink with BETHINK_TIME_ZONE={browserzone} to make them one.",
        { zone, browserzone: browserZone() },
      )}
    </p>
  );
}
