import { t } from "../../i18n";
import { ShortcutList } from "../../kit/ShortcutList";
import { Account } from "./Account";
import { Looks } from "./Looks";
import { NotificationSettings } from "./NotificationSettings";
import { PreferencesForm } from "./Preferences";
import styles from "./Room.module.css";

/** One person's own settings: how Bethink speaks to them, and how the page is on this device. */
export function You() {
  return (
    <>
      <PreferencesForm />
      <Looks />
      <NotificationSettings />
      <section className={styles.part} aria-labelledby="keys">
        <h2 id="keys">{t("Keyboard")}</h2>
        <ShortcutList />
      </section>
      <Account />
    </>
  );
}
