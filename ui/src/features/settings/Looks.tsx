import { Monitor, Moon, Sun } from "lucide-react";
import { chooseLanguage, chosenLanguage, type Language, languages, t } from "../../i18n";
import { Segmented } from "../../kit/pieces";
import { Select } from "../../kit/Select";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import styles from "./Room.module.css";

/** How the pages look and speak, chosen on this device. */
export function Looks() {
  const { look } = useApp();
  const { theme, answers, size, density } = useStore(look.store);
  return (
    <section className={styles.part} aria-labelledby="looks">
      <h2 id="looks">{t("Appearance")}</h2>
      <p className={styles.note}>{t("Kept in this browser, for this device.")}</p>
      <div className={styles.line}>
        <span>{t("Theme")}</span>
        <Segmented
          label={t("Theme")}
          value={theme}
          onChange={(value) => look.choose({ theme: value })}
          options={[
            { value: "system", label: t("System"), icon: Monitor },
            { value: "light", label: t("Light"), icon: Sun },
            { value: "dark", label: t("Dark"), icon: Moon },
          ]}
        />
      </div>
      <div className={styles.line}>
        <span>{t("Text size")}</span>
        <Segmented
          label={t("Text size")}
          value={size}
          onChange={(value) => look.choose({ size: value })}
          options={[
            { value: "small", label: t("Small") },
            { value: "normal", label: t("Normal") },
            { value: "large", label: t("Large") },
            { value: "larger", label: t("Larger") },
          ]}
        />
      </div>
      <div className={styles.line}>
        <span>{t("Density")}</span>
        <Segmented
          label={t("Density")}
          value={density}
          onChange={(value) => look.choose({ density: value })}
          options={[
            { value: "comfortable", label: t("Comfortable") },
            { value: "compact", label: t("Compact") },
          ]}
        />
      </div>
      <div className={styles.line}>
        <span>{t("Font of answers")}</span>
        <Segmented
          label={t("Font of answers")}
          value={answers}
          onChange={(value) => look.choose({ answers: value })}
          options={[
            { value: "sans", label: t("Sans") },
            { value: "serif", label: t("Serif") },
          ]}
        />
      </div>
      <div className={styles.line}>
        <span>{t("Language of these pages")}</span>
        <Select
          label={t("Language of these pages")}
          value={chosenLanguage() ?? ""}
          options={[
            { value: "", label: t("As the browser") },
            ...Object.entries(languages).map(([value, label]) => ({ value, label })),
          ]}
          onChange={(next) => chooseLanguage((next || null) as Language | null)}
        />
      </div>
    </section>
  );
}
