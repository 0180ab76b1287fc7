// The vault: pages of Markdown as a tree, and the one that is open.
import { ArrowLeft, BookOpen, FilePlus2, FolderTree } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { vaultApi } from "../../api/vault";
import { Button, IconButton } from "../../kit/Button";
import { Empty, Link, PHONE, ProblemNotice, Skeleton, useMedia } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfPage, type VaultView } from "../../services/router";
import { count } from "../../services/words";
import { AskPage } from "./AskPage";
import { Asking } from "./asking";
import { CheckPage } from "./CheckPage";
import type { KeptEditors } from "./editor/Editor";
import { FiltersPage } from "./FiltersPage";
import { Finder } from "./Finder";
import { GraphPage } from "./GraphPage";
import { PageView } from "./PageView";
import { PathDialog } from "./PathDialog";
import { Tree, useOpenFolders } from "./Tree";
import { folderOf, treeOf } from "./treeRows";
import { usePageActions } from "./usePageActions";
import { useVault } from "./useVault";
import { Pages } from "./wikilinks";
import "../../styles/vault.css";

const FIRST = "user.md";

export default function VaultRoom({ page, view }: { page: string | null; view: VaultView }) {
  const { router } = useApp();
  const phone = useMedia(PHONE);
  const vault = useVault();
  const { entries, problem } = vault;
  const actions = usePageActions(vault.look);
  const folders = useOpenFolders(page);
  const [query, setQuery] = useState("");
  const [making, setMaking] = useState(false);
  const [kept] = useState<KeptEditors>(() => new Map());
  const [asking] = useState(() => new Asking(vaultApi.ask));
  useEffect(() => asking.stop, [asking]);
  const root = useMemo(() => treeOf(entries?.values() ?? []), [entries]);
  const pages = useMemo(() => {
    const all = [...(entries?.values() ?? [])];
    return new Pages(all.filter((one) => !one.is_folder).map((one) => one.path));
  }, [entries]);
  const go = (path: string) => {
    setQuery("");
    router.go(addressOfPage(path));
  };
  const alone = page !== null || view !== "pages";
  return (
    <div className={`vault ${alone ? "on-page" : ""}`}>
      {!(phone && alone) && (
        <nav className="vault-nav" aria-label="Vault">
          <header>
            {alone ? <h2>Vault</h2> : <h1>Vault</h1>}
            <IconButton icon={FilePlus2} label="New page" onClick={() => setMaking(true)} />
          </header>
          <Finder pages={pages} query={query} onQuery={setQuery} onOpen={go} />
          {problem && !entries && (
            <ProblemNotice problem={problem} onRetry={() => void vault.read()} />
          )}
          {!entries && !problem && <Skeleton lines={6} label="Loading the vault" />}
          {entries && !query.trim() && (
            <Tree
              root={root}
              current={page}
              open={folders.open}
              onFold={folders.fold}
              onOpen={go}
            />
          )}
          {entries && (
            <footer>
              <span>{count(pages.paths.length, "page")}</span>
              <Link to="/vault/ask" aria-current={view === "ask" ? "page" : undefined}>
                Ask
              </Link>
              <Link to="/vault/check" aria-current={view === "check" ? "page" : undefined}>
                Check
              </Link>
              <Link to="/vault/filters" aria-current={view === "filters" ? "page" : undefined}>
                Filters
              </Link>
            </footer>
          )}
        </nav>
      )}
      {page !== null && view === "graph" && <GraphPage key={page} path={page} news={entries} />}
      {page !== null && view !== "graph" && (
        <PageView
          key={page}
          path={page}
          entry={entries?.get(page)}
          pages={pages}
          actions={actions}
          kept={kept}
          onChanged={vault.look}
        />
      )}
      {phone && page === null && view !== "pages" && <BackToTree />}
      {view === "ask" && <AskPage asking={asking} pages={pages} onChanged={vault.look} />}
      {view === "filters" && <FiltersPage paths={pages.paths} />}
      {view === "check" && <CheckPage news={entries} onChanged={vault.look} />}
      {!alone && !phone && entries && <Begin known={pages.paths} onNew={() => setMaking(true)} />}
      {making && (
        <PathDialog
          title="New page"
          label="Name, or path with folders"
          action="Create"
          value={page && folderOf(page) ? `${folderOf(page)}/` : ""}
          hint="For example entities/jane_doe. A slash makes a folder."
          onDone={async (path) => {
            await actions.create(path);
            setMaking(false);
          }}
          onClose={() => setMaking(false)}
        />
      )}
    </div>
  );
}

function BackToTree() {
  return (
    <Link to="/vault" className="icon-button back-to-tree" aria-label="All pages">
      <ArrowLeft size={18} aria-hidden />
    </Link>
  );
}

/** What stands beside the tree while no page is open. */
function Begin({ known, onNew }: { known: readonly string[]; onNew: () => void }) {
  const isNew = known.length <= 1;
  return (
    <div className="vault-page">
      <Empty icon={isNew ? FolderTree : BookOpen} title={isNew ? "Your vault" : "No page is open"}>
        <p>
          {isNew
            ? "Your vault is a folder of Markdown files. Any editor can open them, the agent reads and updates them, and recall searches them. Start with the page about yourself."
            : "Choose a page from the tree, or search for it."}
        </p>
        <div className="actions">
          {known.includes(FIRST) && (
            <Link className="button primary" to={addressOfPage(FIRST)}>
              Open {FIRST}
            </Link>
          )}
          <Button icon={FilePlus2} onClick={onNew}>
            New page
          </Button>
        </div>
      </Empty>
    </div>
  );
}
