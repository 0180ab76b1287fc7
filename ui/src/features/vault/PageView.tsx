// One page: written, read, or both; with what links to it and what it was.
import { FilePlus2, PanelRight, Waypoints } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import type { VaultEntry, VaultPage } from "../../api/types";
import { Button, IconButton } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
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
import { addressOfGraph } from "../../services/router";
import { remember, remembered } from "../../services/store";
import { Conflict } from "./Conflict";
import type { Draft } from "./draft";
import { Editor } from "./Editor";
import { type Mode, PageHead } from "./PageHead";
import { Side } from "./Side";
import { type Editing, useDraft } from "./useDraft";
import type { PageActions } from "./usePageActions";
import type { Pages } from "./wikilinks";

const Preview = lazy(() => import("./Preview"));

const KEY = "bethink.vault";
const MISSING = 404;

type PageProps = {
  path: string;
  /** What the tree knows of the page; another object whenever the page changed. */
  entry: VaultEntry | undefined;
  pages: Pages;
  actions: PageActions;
  onChanged: () => Promise<void>;
};

export function PageView({ path, entry, pages, actions, onChanged }: PageProps) {
  const { toasts } = useApp();
  const editing = useDraft(path, entry, onChanged);
  const { draft, problem, read } = editing;
  // A page that was missing is made, here or by another program.
  const appeared = entry !== undefined && problem?.status === MISSING;
  useEffect(() => {
    if (appeared) void read();
  }, [appeared, read]);
  if (problem?.status === MISSING) return <NoPage path={path} actions={actions} />;
  if (problem) {
    return (
      <div className="vault-page">
        <PageHead path={path} />
        <div className="vault-notices">
          <ProblemNotice problem={problem} onRetry={() => void editing.read()} />
        </div>
      </div>
    );
  }
  if (!draft) {
    return (
      <div className="vault-page">
        <PageHead path={path} />
        <Skeleton lines={6} label="Loading the page" />
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
      draft={draft}
      editing={editing}
      actions={actions}
      onRestore={(version) => void restore(version)}
    />
  );
}

type OpenProps = Omit<PageProps, "onChanged" | "entry"> & {
  draft: Draft;
  editing: Editing;
  onRestore: (version: string) => void;
};

function OpenPage({ path, pages, draft, editing, actions, onRestore }: OpenProps) {
  const { router } = useApp();
  const phone = useMedia(PHONE);
  const narrow = useMedia(NARROW);
  const [look, setLook] = useState(() => remembered(KEY, { mode: "both" as Mode, side: true }));
  const [sheet, setSheet] = useState(false);
  const mode = phone && look.mode === "both" ? "read" : look.mode;
  const save = () => void editing.saveNow();
  const letGo = () => {
    editing.drop();
    router.go("/vault");
  };
  const choose = (patch: Partial<typeof look>) => {
    const next = { ...look, ...patch };
    setLook(next);
    remember(KEY, next);
  };
  const side = (
    <Side
      path={path}
      news={pages}
      onRestore={(version) => {
        setSheet(false);
        onRestore(version);
      }}
    />
  );
  return (
    <>
      <div className="vault-page">
        <PageHead
          path={path}
          draft={draft}
          mode={mode}
          onMode={(next) => choose({ mode: next })}
          actions={actions}
          saveAll={editing.saveAll}
        >
          <Link
            to={addressOfGraph(path)}
            className="icon-button"
            aria-label="Graph"
            title="The pages near this one, drawn"
          >
            <Waypoints size={18} aria-hidden />
          </Link>
          <IconButton
            icon={PanelRight}
            label="Links and history"
            aria-pressed={narrow ? sheet : look.side}
            onClick={() => (narrow ? setSheet(true) : choose({ side: !look.side }))}
          />
        </PageHead>
        <div className={`vault-panes ${mode}`}>
          {mode !== "read" && (
            <Editor
              path={path}
              text={draft.text}
              pages={pages}
              onType={editing.type}
              onSave={save}
            />
          )}
          {mode !== "write" && (
            <div className="vault-read scroll">
              <Reading path={path} text={draft.text} pages={pages} />
            </div>
          )}
        </div>
        {/* Below the text, so that nothing moves under the hands of who writes. */}
        <Notices page={draft.page} />
        {(draft.theirs || draft.problem) && (
          <div className="vault-notices">
            {draft.problem && <ProblemNotice problem={draft.problem} onRetry={save} />}
            <Conflict draft={draft} onChoose={editing.choose} onLeave={letGo} />
          </div>
        )}
      </div>
      {!narrow && look.side && side}
      {narrow && sheet && (
        <Dialog
          title="Links and history"
          className="sheet-dialog end"
          onClose={() => setSheet(false)}
        >
          {side}
        </Dialog>
      )}
    </>
  );
}

/** A browser takes many seconds for the Markdown of a page that is longer. */
const MOST_PREVIEWED_CHARS = 150_000;

/** The page as it reads; one that is too long for that as it is written. */
function Reading({ path, text, pages }: Pick<PageProps, "path" | "pages"> & { text: string }) {
  const plain = <div className="md plain">{text}</div>;
  if (text.length > MOST_PREVIEWED_CHARS) {
    return (
      <>
        <p className="note">This page is too long for the preview. Its source is shown instead.</p>
        {plain}
      </>
    );
  }
  return (
    <Suspense fallback={plain}>
      <Preview path={path} text={text} pages={pages} />
    </Suspense>
  );
}

function Notices({ page }: { page: VaultPage | null }) {
  if (!page?.problems.length) return null;
  return (
    <div className="vault-notices">
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
    <div className="vault-page">
      <PageHead path={path} />
      <Empty icon={FilePlus2} title="This page does not exist yet">
        <p>
          There is no file <code>{path}</code> in your vault.
        </p>
        <Button icon={FilePlus2} onClick={() => void actions.create(path).catch(toasts.fault)}>
          Create this page
        </Button>
      </Empty>
    </div>
  );
}
