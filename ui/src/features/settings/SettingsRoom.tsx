// How this Bethink is set up, what of it works, what it may do, and what it did: a list of places, and the page of one.
import { ArrowLeft } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { t } from "../../i18n";
import { Link, PHONE, useMedia } from "../../kit/pieces";
import type { SettingsPage, SettingsPlace } from "../../services/router";
import { settingsPlaces } from "../../services/settingsPlaces";
import { About } from "./About";
import { Assistants } from "./Assistants";
import { BackupsPage } from "./BackupsPage";
import { Calls } from "./Calls";
import { GroupSettings } from "./GroupSettings";
import { ImportPage } from "./ImportPage";
import { KeysPage } from "./KeysPage";
import { ModelPage } from "./ModelPage";
import { PlaceList } from "./PlaceList";
import { Privacy } from "./Privacy";
import styles from "./Room.module.css";
import { Servers } from "./Servers";
import { Tools } from "./Tools";
import { SettingsProvider } from "./useSettings";
import { You } from "./You";

/** Places with more than settings; what they are made of stands before their settings, or takes their place. */
const pages: Partial<Record<SettingsPage, (props: { found: string | null }) => ReactNode>> = {
  model: ModelPage,
  assistants: Assistants,
  you: You,
  import: ImportPage,
  tools: Tools,
  servers: Servers,
  privacy: Privacy,
  backups: BackupsPage,
  keys: KeysPage,
  calls: Calls,
  about: About,
};

export default function SettingsRoom({ page, setting }: SettingsPlace) {
  const phone = useMedia(PHONE);
  const shown = page ?? (phone ? null : "model");
  return (
    <SettingsProvider>
      <div className={styles.room}>
        {(!phone || !shown) && <PlaceList current={shown} />}
        {shown && <PlacePage key={shown} page={shown} found={setting} hasBack={phone} />}
      </div>
    </SettingsProvider>
  );
}

type PageProps = { page: SettingsPage; found: string | null; hasBack: boolean };

function PlacePage({ page, found, hasBack }: PageProps) {
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!found) top.current?.scrollTo(0, 0);
  }, [found]);
  const place = settingsPlaces().find((each) => each.page === page);
  const Page = pages[page];
  if (!place) return null;
  return (
    <div ref={top} className={`page scroll ${styles.page}`}>
      <div className={`page-inner ${styles.inner}`}>
        <header className={styles.head}>
          {hasBack && (
            <Link className="icon-button" to="/settings" aria-label={t("All settings")}>
              <ArrowLeft size={18} aria-hidden />
            </Link>
          )}
          <div>
            <h1>{place.name}</h1>
            <p>{place.says}</p>
          </div>
        </header>
        {Page ? <Page found={found} /> : <GroupSettings groups={place.groups} found={found} />}
      </div>
    </div>
  );
}
