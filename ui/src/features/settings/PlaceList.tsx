// The list of places, with a search over all settings by their names and sentences.
import { Search } from "lucide-react";
import { useId, useMemo, useState } from "react";
import type { SettingShown } from "../../api/settings";
import { t } from "../../i18n";
import { Link } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfSettings, type SettingsPage } from "../../services/router";
import { type Place, settingsPlaces, setupPlace } from "../../services/settingsPlaces";
import { useStore } from "../../services/store";
import styles from "./Room.module.css";
import { useSettings } from "./useSettings";
import { plain } from "./words";

const MOST = 30;

export type FoundSetting = { key: string; title: string; says: string; to: string };

/** Whether all words stand in a text. */
const has = (text: string, wanted: string) => {
  const low = text.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => low.includes(word));
};

/** What fits: places first, then settings whose title does, then those whose sentence does. */
export function found(
  wanted: string,
  places: readonly Place[],
  settings: readonly SettingShown[],
): FoundSetting[] {
  const pages = places
    .filter(({ name, says }) => has(`${name} ${says}`, wanted))
    .map(({ page, name, says, path }) => ({ key: page as string, title: name, says, to: path }));
  const score = ({ title, name }: SettingShown) => (has(`${plain(title)} ${name}`, wanted) ? 0 : 1);
  const fitting = settings
    .filter(({ title, name, description }) =>
      has(`${plain(title)} ${name} ${plain(description)}`, wanted),
    )
    .sort((a, b) => score(a) - score(b))
    .map(({ name, title, description, group }) => {
      const page = places.find(({ groups }) => groups.includes(group))?.page ?? "advanced";
      const place = places.find((each) => each.page === page)?.name ?? "";
      const says = `${place} · ${plain(description)}`;
      return { key: name, title: plain(title), says, to: addressOfSettings(page, name) };
    });
  return [...pages, ...fitting].slice(0, MOST);
}

export function PlaceList({ current }: { current: SettingsPage | null }) {
  const { all } = useSettings();
  const [wanted, setWanted] = useState("");
  const places = useMemo(settingsPlaces, []);
  const results = useMemo(
    () => (wanted.trim() ? found(wanted.trim(), places, all?.settings ?? []) : null),
    [wanted, places, all],
  );
  const id = useId();
  const Heading = current ? "h2" : "h1";
  return (
    <nav className={`scroll ${styles.list}`} aria-labelledby={id}>
      <Heading id={id}>{t("Settings")}</Heading>
      <label className="search">
        <Search size={16} aria-hidden />
        <input
          type="search"
          className="input"
          placeholder={t("Search settings")}
          aria-label={t("Search settings")}
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && setWanted("")}
        />
      </label>
      <p className="visually-hidden" role="status">
        {results &&
          t("{count, plural, one {# result} other {# results}}", { count: results.length })}
      </p>
      {results ? <Results results={results} /> : <Places places={places} current={current} />}
    </nav>
  );
}

function Results({ results }: { results: readonly FoundSetting[] }) {
  if (!results.length) return <p className={styles.nothing}>{t("No setting matches.")}</p>;
  return (
    <ul className={styles.results} aria-label={t("Found settings")}>
      {results.map(({ key, title, says, to }) => (
        <li key={key}>
          <Link to={to}>
            <strong>{title}</strong>
            <small>{says}</small>
          </Link>
        </li>
      ))}
    </ul>
  );
}

type PlacesProps = { places: readonly Place[]; current: SettingsPage | null };

function Places({ places, current }: PlacesProps) {
  const { health } = useApp();
  const degraded = useStore(health.store).health?.status === "degraded";
  const { name, path, icon: Icon } = setupPlace();
  const sections = [...new Set(places.map(({ section }) => section))];
  return (
    <div className={styles.places}>
      {sections.map((section) => (
        <section key={section} aria-label={section}>
          <h3>{section}</h3>
          <ul>
            {places
              .filter((each) => each.section === section)
              .map((each) => (
                <li key={each.page}>
                  <Link to={each.path} aria-current={each.page === current ? "page" : undefined}>
                    <each.icon size={17} strokeWidth={1.75} aria-hidden />
                    {each.name}
                    {each.page === "about" && degraded && (
                      <span className={styles.dot}>
                        <span className="visually-hidden">, {t("something needs attention")}</span>
                      </span>
                    )}
                  </Link>
                </li>
              ))}
          </ul>
        </section>
      ))}
      <ul>
        <li>
          <Link to={path}>
            <Icon size={17} strokeWidth={1.75} aria-hidden />
            {name}
          </Link>
        </li>
      </ul>
    </div>
  );
}
