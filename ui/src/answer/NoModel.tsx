import { useId } from "react";
import { t, told } from "../i18n";
import { Link } from "../kit/pieces";
import { useApp } from "../services/context";
import { useStore } from "../services/store";
import { LazyMarkdown } from "./LazyMarkdown";
import css from "./NoModel.module.css";

/** No model is set: one click to where one is chosen, and what works all the same. */
export function NoModel({ message }: { message?: string }) {
  const { health, account } = useApp();
  const heading = useId();
  const { settings } = useStore(health.store);
  const session = useStore(account.session);
  const may = !session?.user || session.rights.includes("admin");
  const help = told(settings?.model_help ?? "") || message;
  return (
    <section className={css.box} aria-labelledby={heading}>
      <h2 id={heading}>{t("No language model is set up")}</h2>
      {may ? (
        <p>
          <Link className="button primary" to="/setup/model">
            {t("Choose a model")}
          </Link>
        </p>
      ) : (
        <p>{t("Ask an administrator of this Bethink to choose one.")}</p>
      )}
      <p>
        {t("All that needs no model works:")} <Link to="/memory">{t("Memory")}</Link>,{" "}
        <Link to="/vault">{t("Vault")}</Link>, <Link to="/tasks">{t("Tasks")}</Link>.
      </p>
      {help && may && (
        <details>
          <summary>{t("In a terminal")}</summary>
          <LazyMarkdown text={help} />
        </details>
      )}
    </section>
  );
}
