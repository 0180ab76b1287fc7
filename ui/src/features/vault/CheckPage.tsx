// What is wrong in the vault, and what would mend it: each way out shown before it is taken, one or all of a kind.
import { CircleCheck } from "lucide-react";
import { useState } from "react";
import type { VaultChoice, VaultMended, VaultReport } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { locale, t, told } from "../../i18n";
import { Button } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Empty, Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfPage } from "../../services/router";
import { useRead } from "../../services/useRead";
import styles from "./Check.module.css";
import { Fixes } from "./Fixes";
import { RepairDialog } from "./RepairDialog";
import vault from "./vault.module.css";

const SHOWN = 200;

export type Finding = VaultReport["findings"][number];
type Kind = Finding["kind"];

const names = (): Record<Kind, string> => ({
  broken_link: t("Broken links"),
  same_content: t("Duplicate pages"),
  same_name: t("Duplicate names"),
  front_matter: t("Properties that cannot be read"),
  unread: t("Skipped files"),
  name: t("Names that do not work everywhere"),
  memory_line: t("Memory lines to review"),
});

type Props = { news: unknown; onChanged: () => Promise<void> };

/** `news` is another value whenever pages changed. */
export function CheckPage({ news, onChanged }: Props) {
  const { toasts } = useApp();
  const { value: report, problem, read } = useRead(vaultApi.check, news);
  const [choices, setChoices] = useState<readonly VaultChoice[] | null>(null);
  const mended = async (said: string, { undo }: Pick<VaultMended, "undo">) => {
    const again = () => Promise.all([read(), onChanged()]);
    const back = async () => {
      try {
        for (const token of undo) await vaultApi.undo(token);
      } catch (error) {
        toasts.fault(error);
      }
      await again();
    };
    setChoices(null);
    toasts.show(said, { label: t("Undo"), run: () => void back() });
    await again();
  };
  const ignore = async (kinds: readonly Kind[]) => {
    try {
      await vaultApi.ignore(kinds);
      await read();
    } catch (error) {
      toasts.fault(error);
    }
  };
  const ignored = report?.ignored ?? [];
  return (
    <div className={vault.page}>
      <PageHead title={t("Check")} isMain>
        <Button onClick={() => void read()}>{t("Check again")}</Button>
      </PageHead>
      <div className={`${vault.body} scroll`}>
        <div className={`page-inner ${styles.check}`}>
          {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
          {!report && !problem && <Skeleton lines={6} label={t("Checking the vault")} />}
          {report?.findings.length === 0 && (
            <Empty icon={CircleCheck} title={t("No problems found")}>
              {ignored.length === 0 && (
                <p>{t("Every link leads to a page, and every file is readable.")}</p>
              )}
            </Empty>
          )}
          {Object.entries(names()).map(([kind, name]) => (
            <Group
              key={kind}
              name={name}
              found={report?.findings.filter((finding) => finding.kind === kind) ?? []}
              onChoose={setChoices}
              onIgnore={() => void ignore([...ignored, kind as Kind])}
            />
          ))}
          {ignored.length > 0 && (
            <section aria-label={t("Ignored")}>
              <h2>{t("Ignored")}</h2>
              {ignored.map((kind) => (
                <p key={kind} className={styles.group}>
                  <span>{names()[kind]}</span>
                  <Button onClick={() => void ignore(ignored.filter((one) => one !== kind))}>
                    {t("Check for this again")}
                  </Button>
                </p>
              ))}
            </section>
          )}
          {choices && (
            <RepairDialog
              choices={choices}
              onMended={(said, made) => void mended(said, made)}
              onClose={() => {
                setChoices(null);
                void read();
              }}
            />
          )}
        </div>
      </div>
    </div>
  );
}

type GroupProps = {
  name: string;
  found: readonly Finding[];
  onChoose: (choices: readonly VaultChoice[]) => void;
  onIgnore: () => void;
};

function Group({ name, found, onChoose, onIgnore }: GroupProps) {
  if (!found.length) return null;
  const left = found.length - SHOWN;
  return (
    <section aria-label={name}>
      <header className={styles.group}>
        <h2>
          {name} <small>{found.length.toLocaleString(locale())}</small>
        </h2>
        <Fixes found={found} onChoose={onChoose} />
        <Button look="quiet" onClick={onIgnore} aria-label={t("Ignore: {name}", { name })}>
          {t("Ignore")}
        </Button>
      </header>
      <ul>
        {found.slice(0, SHOWN).map((finding) => (
          <Found
            key={`${finding.path} ${finding.line} ${finding.said}`}
            finding={finding}
            onChoose={(choice) => onChoose([choice])}
          />
        ))}
      </ul>
      {left > 0 && (
        <p className={vault.note}>
          {t("And {left} more.", { left: left.toLocaleString(locale()) })}
        </p>
      )}
    </section>
  );
}

type FoundProps = { finding: Finding; onChoose: (choice: VaultChoice) => void };

function Found({ finding: { path, line, said, choices }, onChoose }: FoundProps) {
  return (
    <li>
      <Link to={addressOfPage(path)}>{path}</Link>
      <span>
        {line > 0 && t("Line {line}:", { line })} {told(said)}
      </span>
      {choices.length > 0 && (
        <span className={styles.ways}>
          {choices.map((choice) => (
            <Button key={choice.said} onClick={() => onChoose(choice)}>
              {told(choice.said)}
            </Button>
          ))}
        </span>
      )}
    </li>
  );
}
