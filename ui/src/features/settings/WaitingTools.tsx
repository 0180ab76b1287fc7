import type { McpServerShown } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import styles from "./Servers.module.css";

type WaitingProps = { server: McpServerShown; busy: boolean; onAccept: () => void };

/** Tools that a server added or changed are not used, and its first ones not trusted, until somebody read them. */
export function WaitingTools({ server, busy, onAccept }: WaitingProps) {
  const { waiting, unreviewed } = server;
  const tools = [...waiting, ...unreviewed];
  if (!tools.length) return null;
  return (
    <Notice tone="ask">
      <strong>
        {t("{count, plural, one {# tool needs your review} other {# tools need your review}}", {
          count: tools.length,
        })}
      </strong>
      <span>
        {waiting.length
          ? t("New or changed by the server. Not used until you accept.")
          : t(
              "In use, but not reviewed: until you accept, calls that send data out ask first.",
            )}{" "}
        {t("The model reads these descriptions. Are they what you expect?")}
      </span>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls is scrolled by keys, too */}
      <ul className={styles.waiting} tabIndex={0} aria-label={t("Tool descriptions")}>
        {tools.map(({ name, change, description }) => (
          <li key={name}>
            <code>{name}</code> <small>{change === "new" ? t("new") : t("changed")}</small>
            <p>{description || t("No description.")}</p>
          </li>
        ))}
      </ul>
      <span>
        <Button disabled={busy} onClick={onAccept}>
          {waiting.length ? t("Accept changes") : t("Accept")}
        </Button>
      </span>
    </Notice>
  );
}
