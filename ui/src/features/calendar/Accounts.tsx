import { Plus } from "lucide-react";
import { useState } from "react";
import { calendarsApi } from "../../api/calendars";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { ProblemNotice } from "../../kit/pieces";
import { useRead } from "../../services/useRead";
import { AccountCard } from "./AccountCard";
import { AccountForm } from "./AccountForm";

/** Calendar servers (CalDAV) with which events and tasks are kept the same. */
export function Accounts() {
  const { value, problem, read, look } = useRead(calendarsApi.accounts);
  const [adding, setAdding] = useState(false);
  return (
    <section>
      <h2>{t("Accounts")}</h2>
      <p>
        {t("Events and tasks are kept the same here and on a calendar server (CalDAV), both ways.")}
      </p>
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {value?.items.map((account) => (
        <AccountCard key={account.id} account={account} onChange={look} />
      ))}
      <Button icon={Plus} onClick={() => setAdding(true)}>
        {t("Add an account")}
      </Button>
      {adding && <AccountForm onDone={look} onClose={() => setAdding(false)} />}
    </section>
  );
}
