import { Globe, LockKeyhole, type LucideIcon, PenLine, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import type { KnownTool, Rule } from "../../api/types";
import { t, told } from "../../i18n";
import { Select } from "../../kit/Select";
import styles from "./Tools.module.css";
import { effects, firstSentence, rules, usual } from "./toolWords";

const icons: Record<KnownTool["effect"], LucideIcon> = {
  read: LockKeyhole,
  write: PenLine,
  destructive: Trash2,
  egress: Send,
};

type RowProps = { tool: KnownTool; onRule: (rule: Rule) => void };

/** One tool: what it is for, the strongest thing it can do, and what was decided about it. */
export function ToolRow({ tool, onRule }: RowProps) {
  const [open, setOpen] = useState(false);
  const Icon = icons[tool.effect];
  const brief = firstSentence(tool.description);
  // What cannot be undone is asked about whatever is chosen: that choice is not offered.
  const offered = rules().filter(({ value }) => tool.effect !== "destructive" || value !== "auto");
  return (
    <li>
      <div className={styles.about}>
        <code>{tool.name}</code>
        {open ? (
          <>
            <p>{t("What the model reads:")}</p>
            <p lang="en">{tool.description}</p>
          </>
        ) : (
          <p>{told(brief)}</p>
        )}
        <p className={styles.facts}>
          <span className={styles[tool.effect]}>
            <Icon size={13} aria-hidden />
            {effects()[tool.effect]}
          </span>
          {tool.trust === "untrusted" && (
            <span>
              <Globe size={13} aria-hidden />
              {t("Returns content from outside")}
            </span>
          )}
          {brief !== tool.description.trim() && (
            <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? t("Less") : t("More")}
              <span className="visually-hidden"> {t("about {name}", { name: tool.name })}</span>
            </button>
          )}
        </p>
      </div>
      <Select
        label={t("Rule for {name}", { name: tool.name })}
        look="wide"
        value={tool.rule ?? ""}
        options={[{ value: "", label: usual()[tool.effect] }, ...offered]}
        onChange={(next) => onRule((next || null) as Rule)}
      />
    </li>
  );
}
