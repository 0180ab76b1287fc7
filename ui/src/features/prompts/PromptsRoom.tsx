// The owner's prompts: a list, and the one that is written in.
import { Plus, TextQuote } from "lucide-react";
import { useState } from "react";
import { type Prompt, promptsApi } from "../../api/prompts";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { ListButton, Panes } from "../../kit/Panes";
import { Empty, Link, PHONE, ProblemNotice, Skeleton, useMedia } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useKey } from "../../services/useKey";
import { useRead } from "../../services/useRead";
import { PromptEditor } from "./PromptEditor";
import styles from "./Prompts.module.css";

const NEW = "new";
const addressOf = (id: string) => `/prompts/${encodeURIComponent(id)}`;

/** `prompt` is the id of the one that is open, or `new`. */
export default function PromptsRoom({ prompt }: { prompt: string | null }) {
  const { router } = useApp();
  const { value, problem, read, change } = useRead(promptsApi.list);
  const [query, setQuery] = useState("");
  const phone = useMedia(PHONE);
  const items = value?.items ?? [];
  const open = items.find(({ id }) => id === prompt) ?? null;
  const wanted = query.trim().toLowerCase();
  const shown = items.filter(({ name, text }) => `${name}\n${text}`.toLowerCase().includes(wanted));
  const isOpen = prompt !== null;
  useKey("create", () => router.go(addressOf(NEW)));
  const saved = (now: Prompt) => {
    change((before) => {
      const others = before.items.filter(({ id }) => id !== now.id);
      return { items: [...others, now].sort((a, b) => a.name.localeCompare(b.name)) };
    });
    router.go(addressOf(now.id), prompt === NEW);
  };
  const removed = (gone: Prompt) => {
    change((before) => ({ items: before.items.filter(({ id }) => id !== gone.id) }));
    router.go("/prompts", true);
  };
  const list = (
    <div className={styles.list}>
      <div className={styles.head}>
        <h1>{t("Prompts")}</h1>
        <IconButton icon={Plus} label={t("New prompt")} onClick={() => router.go(addressOf(NEW))} />
      </div>
      {items.length > 6 && (
        <input
          type="search"
          className="input"
          aria-label={t("Find a prompt")}
          placeholder={t("Find a prompt")}
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
      )}
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={5} label={t("Loading the prompts")} />}
      <ul className={styles.rows} aria-label={t("Prompts")}>
        {shown.map(({ id, name, text }) => (
          <li key={id}>
            <Link to={addressOf(id)} aria-current={id === prompt ? "page" : undefined}>
              <span className="clip">{name}</span>
              <small className="clip">{text.replace(/\s+/g, " ")}</small>
            </Link>
          </li>
        ))}
      </ul>
      {value && !shown.length && items.length > 0 && (
        <p className={styles.none}>{t("No prompt says that.")}</p>
      )}
      {phone && value && !items.length && <NothingOpen isEmpty isLost={false} />}
    </div>
  );
  return (
    <Panes
      name="prompts"
      listLabel={t("Prompts")}
      list={list}
      isOpen={isOpen}
      onBack={() => router.go("/prompts")}
    >
      <div className={`${styles.page} scroll`}>
        <ListButton />
        {open || prompt === NEW ? (
          <PromptEditor key={open?.id ?? NEW} prompt={open} onSaved={saved} onRemoved={removed} />
        ) : (
          value && <NothingOpen isEmpty={!items.length} isLost={isOpen} />
        )}
      </div>
    </Panes>
  );
}

function NothingOpen({ isEmpty, isLost }: { isEmpty: boolean; isLost: boolean }) {
  const { router } = useApp();
  return (
    <Empty
      icon={TextQuote}
      title={isLost ? t("This prompt is not there any more") : t("Texts that you send again")}
    >
      <p>
        {t(
          "Give a text a name, and type / and its name in a chat. What changes each time stands in two braces, such as {example}: it is asked for.",
          { example: "{{topic}}" },
        )}
      </p>
      <Button look="primary" icon={Plus} onClick={() => router.go(addressOf(NEW))}>
        {isEmpty ? t("Write the first prompt") : t("New prompt")}
      </Button>
    </Empty>
  );
}
