// What is wrong in the vault, and what would mend it: each way out shown before it is taken.
import { CircleCheck } from "lucide-react";
import { useState } from "react";
import type { VaultChoice, VaultMended, VaultReport } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { Button } from "../../kit/Button";
import { Empty, Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfPage } from "../../services/router";
import { useRead } from "../../services/useRead";
import { RepairDialog } from "./RepairDialog";

const SHOWN = 200;

const kinds: Record<VaultReport["findings"][number]["kind"], string> = {
  broken_link: "Broken links",
  same_content: "Duplicate pages",
  same_name: "Duplicate names",
  front_matter: "Unreadable front matter",
  unread: "Skipped files",
  name: "Names not in snake_case",
  memory_line: "Memory lines to review",
};

type Props = { news: unknown; onChanged: () => Promise<void> };

/** `news` is another value whenever pages changed. */
export function CheckPage({ news, onChanged }: Props) {
  const { toasts } = useApp();
  const { value: report, problem, read } = useRead(vaultApi.check, news);
  const [choice, setChoice] = useState<VaultChoice | null>(null);
  const mended = async ({ path }: VaultChoice, { undo }: VaultMended) => {
    const again = () => Promise.all([read(), onChanged()]);
    const back = async () => {
      try {
        for (const token of undo) await vaultApi.undo(token);
      } catch (error) {
        toasts.fault(error);
      }
      await again();
    };
    setChoice(null);
    toasts.show(`${path} is fixed`, { label: "Undo", run: () => void back() });
    await again();
  };
  const groups = Object.entries(kinds).map(([kind, name]) => ({
    kind,
    name,
    found: report?.findings.filter((finding) => finding.kind === kind) ?? [],
  }));
  return (
    <div className="vault-page scroll">
      <div className="page-inner vault-check">
        <header className="page-head">
          <h1>Check</h1>
          <Button onClick={() => void read()}>Check again</Button>
        </header>
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {!report && !problem && <Skeleton lines={6} label="Checking the vault" />}
        {report?.findings.length === 0 && (
          <Empty icon={CircleCheck} title="No problems found">
            <p>Every link leads to a page, and every file is readable.</p>
          </Empty>
        )}
        {groups.map(
          ({ kind, name, found }) =>
            found.length > 0 && (
              <section key={kind}>
                <h2>
                  {name} <small>{found.length.toLocaleString()}</small>
                </h2>
                <ul>
                  {found.slice(0, SHOWN).map((finding) => (
                    <Found
                      key={`${finding.path} ${finding.line} ${finding.said}`}
                      finding={finding}
                      onChoose={setChoice}
                    />
                  ))}
                </ul>
                {found.length > SHOWN && (
                  <p className="note">And {(found.length - SHOWN).toLocaleString()} more.</p>
                )}
              </section>
            ),
        )}
        {choice && (
          <RepairDialog
            choice={choice}
            onMended={(made) => void mended(choice, made)}
            onClose={() => {
              setChoice(null);
              void read();
            }}
          />
        )}
      </div>
    </div>
  );
}

type FoundProps = {
  finding: VaultReport["findings"][number];
  onChoose: (choice: VaultChoice) => void;
};

function Found({ finding: { path, line, said, choices }, onChoose }: FoundProps) {
  return (
    <li>
      <Link to={addressOfPage(path)}>{path}</Link>
      <span>
        {line > 0 && `Line ${line}: `}
        {said}
      </span>
      {choices.length > 0 && (
        <span className="choices">
          {choices.map((choice) => (
            <Button key={choice.said} onClick={() => onChoose(choice)}>
              {choice.said}
            </Button>
          ))}
        </span>
      )}
    </li>
  );
}
