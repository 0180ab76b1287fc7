// One page: written, read, or both; with what links to it and what it was.
import { FilePlus2, ListPlus, PanelRight, SquareCode, Waypoints } from "lucide-react";
import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import markdown from "../../answer/markdown.module.css";
import type { VaultEntry, VaultPage } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { Panes } from "../../kit/Panes";
import {
  Empty,
  Link,
  NARROW,
  Notice,
  PHONE,
  ProblemNotice,
  Skeleton,
  useMedia,
} from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfGraph, addressOfPage } from "../../services/router";
import { remember, remembered } from "../../services/store";
import { Conflict } from "./Conflict";
import type { Draft } from "./draft";
import type { KeptEditors } from "./editor/Editor";
import styles from "./Page.module.css";
import { type Mode, PageHead } from "./PageHead";
import { Side } from "./Side";
import { headingsOf, toggled, withFront } from "./texts";
import { type Editing, useDraft } from "./useDraft";
import type { PageActions, Saving } from "./usePageActions";
import vault from "./vault.module.css";
import type { Pages } from "./wikilinks";

const Preview = lazy(() => import("./Preview"));
const Editor = lazy(() => import("./editor/Editor"));

const KEY = "bethink.vault";
/** Too little room for two panes beside the tree, and for all tools. */
const COMPACT = "(max-width: 1000px)";
const MISSING = 404;

type PageProps = {
  path: string;
  /** What the tree knows of the page; another object whenever the page changed. */
  entry: VaultEntry | undefined;
  pages: Pages;
  actions: PageActions;
  kept: KeptEditors;
  saving: Saving;
  onChanged: () => Promise<void>;
};

export function PageView({ path, entry, pages, actions, kept, saving, onChanged }: PageProps) {
  const { toasts } = useApp();
  const editing = useDraft(path, entry, onChanged);
  const { draft, problem, read, saveAll } = editing;
  useEffect(() => {
    saving.current = saveAll;
    return () => {
      if (saving.current === saveAll) saving.current = null;
    };
  }, [saving, saveAll]);
  // A page that was missing is made, here or by another program.
  const appeared = entry !== undefined && problem?.status === MISSING;
  useEffect(() => {
    if (appeared) void read();
  }, [appeared, read]);
  if (problem?.status === MISSING) return <NoPage path={path} actions={actions} />;
  if (problem) {
    return (
      <div className={vault.page}>
        <PageHead path={path} />
        <div className={vault.notices}>
          <ProblemNotice problem={problem} onRetry={() => void editing.retry()} />
        </div>
      </div>
    );
  }
  if (!draft) {
    return (
      <div className={vault.page}>
        <PageHead path={path} />
        <Skeleton lines={6} label={t("Loading the page")} />
      </div>
    );
  }
  const restore = async (version: string) => {
    try {
      await editing.saveAll();
      await actions.restore(path, version);
      await editing.read();
    } catch (error) {
      toasts.fault(error);
    }
  };
  return (
    <OpenPage
      path={path}
      pages={pages}
      kept={kept}
      draft={draft}
      editing={editing}
      actions={actions}
      onRestore={(version) => void restore(version)}
    />
  );
}

type OpenProps = Omit<PageProps, "onChanged" | "entry" | "saving"> & {
  draft: Draft;
  editing: Editing;
  onRestore: (version: string) => void;
};

type Look = { mode: Mode | null; side: boolean; source: boolean };

/** How pages are looked at, as it was left; two panes need room. */
function useLook() {
  const phone = useMedia(PHONE);
  const compact = useMedia(COMPACT);
  const [look, setLook] = useState(() =>
    remembered<Look>(KEY, { mode: null, side: true, source: false }),
  );
  const choose = (patch: Partial<Look>) => {
    const next = { ...look, ...patch };
    setLook(next);
    remember(KEY, next);
  };
  const wanted = look.mode ?? (phone ? "read" : "write");
  const mode: Mode = wanted !== "both" || !compact ? wanted : phone ? "read" : "write";
  return { ...look, mode, choose, compact };
}

function OpenPage({ path, pages, kept, draft, editing, actions, onRestore }: OpenProps) {
  const { router } = useApp();
  const narrow = useMedia(NARROW);
  const look = useLook();
  const { mode, compact } = look;
  const [sheet, setSheet] = useState(false);
  const save = () => void editing.saveNow();
  const letGo = () => {
    editing.drop();
    router.go("/vault");
  };
  const tick = useCallback(
    (at: number) => {
      const text = toggled(draft.text, at);
      if (text === null) return;
      editing.type(text);
      void editing.saveNow();
    },
    [draft.text, editing.type, editing.saveNow],
  );
  const side = (
    <Side
      path={path}
      text={draft.text}
      news={pages}
      onRestore={(version) => {
        setSheet(false);
        onRestore(version);
      }}
    />
  );
  const beside = () => (narrow ? setSheet(!sheet) : look.choose({ side: !look.side }));
  const graph = { label: t("Graph"), icon: Waypoints, run: () => router.go(addressOfGraph(path)) };
  const more = [
    ...(compact ? [graph] : []),
    ...(mode === "read"
      ? []
      : [
          {
            label: look.source ? t("Hide Markdown marks") : t("Show Markdown marks"),
            icon: SquareCode,
            run: () => look.choose({ source: !look.source }),
          },
        ]),
    ...(withFront(draft.text) === null
      ? []
      : [
          {
            label: t("Add properties"),
            icon: ListPlus,
            run: () => editing.type(withFront(draft.text) ?? draft.text),
          },
        ]),
  ];
  return (
    <div className={vault.page}>
      <PageHead
        path={path}
        draft={draft}
        mode={mode}
        onMode={(next) => look.choose({ mode: next })}
        actions={actions}
        more={more}
        saveAll={editing.saveAll}
      >
        {!compact && (
          <Link
            to={addressOfGraph(path)}
            className="icon-button"
            aria-label={graph.label}
            title={t("The pages near this one, drawn")}
          >
            <Waypoints size={18} aria-hidden />
          </Link>
        )}
        <IconButton
          icon={PanelRight}
          label={t("Links and history")}
          aria-pressed={narrow ? sheet : look.side}
          onClick={beside}
        />
      </PageHead>
      <Panes
        name="vault-page"
        listLabel=""
        side={(narrow ? sheet : look.side) ? side : null}
        sideLabel={t("Links and history")}
        onCloseSide={beside}
      >
        <div className={`${styles.panes} ${mode === "both" ? styles.both : ""}`}>
          {mode !== "read" && (
            <Suspense fallback={<Skeleton lines={6} label={t("Loading the editor")} />}>
              <Editor
                path={path}
                text={draft.text}
                pages={pages}
                kept={kept}
                isSource={look.source}
                headings={headings}
                tags={knownTags}
                onType={editing.type}
                onSave={save}
                onOpen={(to) => router.go(addressOfPage(to))}
                onCreate={(to) => void actions.add(to)}
              />
            </Suspense>
          )}
          {mode !== "write" && (
            <div className={`${styles.read} scroll`}>
              <Reading path={path} text={draft.text} pages={pages} onTick={tick} />
            </div>
          )}
        </div>
        {/* Below the text, so that nothing moves under the hands of who writes. */}
        <Notices page={draft.page} />
        {(draft.theirs || draft.problem) && (
          <div className={vault.notices}>
            {draft.problem && (
              <ProblemNotice problem={draft.problem} onRetry={() => void editing.retry()} />
            )}
            <Conflict draft={draft} onChoose={editing.choose} onLeave={letGo} />
          </div>
        )}
      </Panes>
    </div>
  );
}

const headings = async (path: string) => headingsOf((await vaultApi.page(path)).text);
const knownTags = async () => (await vaultApi.tags()).items.map(({ name }) => name);

/** A browser takes many seconds for the Markdown of a page that is longer. */
const MOST_PREVIEWED_CHARS = 150_000;

type ReadingProps = Pick<PageProps, "path" | "pages"> & {
  text: string;
  onTick: (at: number) => void;
};

/** The page as it reads; one that is too long for that as it is written. */
function Reading({ path, text, pages, onTick }: ReadingProps) {
  const plain = (
    <div className={`${markdown.md} ${markdown.plain}`} data-markdown="plain">
      {text}
    </div>
  );
  if (text.length > MOST_PREVIEWED_CHARS) {
    return (
      <>
        <p className={vault.note}>
          {t("This page is too long for the preview. Its source is shown instead.")}
        </p>
        {plain}
      </>
    );
  }
  return (
    <Suspense fallback={plain}>
      <Preview path={path} text={text} pages={pages} onTick={onTick} />
    </Suspense>
  );
}

function Notices({ page }: { page: VaultPage | null }) {
  if (!page?.problems.length) return null;
  return (
    <div className={vault.notices}>
      {page.problems.map((problem) => (
        <Notice key={problem} tone="ask">
          {problem}
        </Notice>
      ))}
    </div>
  );
}

/** A link can lead to a page that nobody has made: it is made here. */
function NoPage({ path, actions }: { path: string; actions: PageActions }) {
  const { toasts } = useApp();
  return (
    <div className={vault.page}>
      <PageHead path={path} />
      <Empty icon={FilePlus2} title={t("This page does not exist yet")}>
        <p>{t("There is no file {path} in your vault.", { path })}</p>
        <Button icon={FilePlus2} onClick={() => void actions.create(path).catch(toasts.fault)}>
          {t("Create this page")}
        </Button>
      </Empty>
    </div>
  );
}
