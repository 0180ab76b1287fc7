// The vault: pages of Markdown as a tree, and the one that is open.
import { BookOpen, CalendarPlus, FilePlus2, FolderPlus, FolderTree, Waypoints } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { Panes } from "../../kit/Panes";
import { Empty, Link, PHONE, ProblemNotice, Skeleton, useMedia } from "../../kit/pieces";
import { TabLinks } from "../../kit/Tabs";
import { useApp } from "../../services/context";
import { addressOfPage, type VaultView } from "../../services/router";
import { AskPage } from "./AskPage";
import { Asking } from "./asking";
import { CheckPage } from "./CheckPage";
import type { KeptEditors } from "./editor/Editor";
import { FiltersPage } from "./FiltersPage";
import { Finder } from "./Finder";
import { GraphPage } from "./GraphPage";
import { PageView } from "./PageView";
import { TagsPage } from "./TagsPage";
import { Today } from "./Today";
import { Tree } from "./Tree";
import { TreeDialogs } from "./TreeDialogs";
import { folderOf, treeOf } from "./treeRows";
import { type Saving, usePageActions } from "./usePageActions";
import { type TreeActions, useTreeActions } from "./useTreeActions";
import { useVault, type Vault } from "./useVault";
import styles from "./vault.module.css";
import { WholeGraph } from "./WholeGraph";
import { Pages } from "./wikilinks";

const FIRST = "user.md";

type RoomProps = { page: string | null; view: VaultView };

export default function VaultRoom({ page, view }: RoomProps) {
  const { router } = useApp();
  const phone = useMedia(PHONE);
  const vault = useVault();
  const { entries, notes, look } = vault;
  const saving: Saving = useRef(null);
  const actions = usePageActions(look, saving);
  const [kept] = useState<KeptEditors>(() => new Map());
  const [asking] = useState(() => new Asking(vaultApi.ask));
  useEffect(() => asking.stop, [asking]);
  const pages = useMemo(() => {
    const all = [...(entries?.values() ?? [])];
    return new Pages(all.filter((one) => !one.is_folder).map((one) => one.path));
  }, [entries]);
  const folders = useMemo(
    () => [...(entries?.values() ?? [])].flatMap(({ path, is_folder }) => (is_folder ? path : [])),
    [entries],
  );
  const tree = useTreeActions(pages.paths, folders, actions, vault.read);
  const alone = page !== null || view !== "pages";
  const newPage = () => tree.ask({ kind: "page", folder: page ? folderOf(page) : "" });
  const shared = { pages, actions, kept, saving, onChanged: look };
  return (
    <div className={styles.room}>
      <Panes
        name="vault"
        listLabel={t("Vault")}
        isOpen={alone}
        onBack={() => router.go("/vault")}
        list={<VaultNav {...{ page, view, vault, pages, tree, onNew: newPage }} />}
      >
        {page !== null && view === "graph" && <GraphPage key={page} path={page} news={entries} />}
        {page !== null && view !== "graph" && (
          <PageView key={page} path={page} entry={entries?.get(page)} {...shared} />
        )}
        {page === null && view === "graph" && <WholeGraph news={entries} />}
        {view === "tags" && <TagsPage news={entries} />}
        {view === "today" && notes && <Today notes={notes} pages={pages} actions={actions} />}
        {view === "ask" && <AskPage asking={asking} pages={pages} onChanged={look} />}
        {view === "filters" && <FiltersPage paths={pages.paths} />}
        {view === "check" && <CheckPage news={entries} onChanged={look} />}
        {!alone && !phone && entries && <Begin known={pages.paths} onNew={newPage} />}
      </Panes>
      {tree.asked && notes && (
        <TreeDialogs {...{ asked: tree.asked, tree, actions, pages, notes }} />
      )}
    </div>
  );
}

type NavProps = RoomProps & {
  vault: Vault;
  pages: Pages;
  tree: TreeActions;
  onNew: () => void;
};

/** The list of the room: what can be made, the field that finds, the tree, and the other views. */
function VaultNav({ page, view, vault, pages, tree, onNew }: NavProps) {
  const { router } = useApp();
  const [query, setQuery] = useState("");
  const { entries, problem } = vault;
  const root = useMemo(() => treeOf(entries?.values() ?? []), [entries]);
  const go = (path: string) => {
    setQuery("");
    router.go(addressOfPage(path));
  };
  const alone = page !== null || view !== "pages";
  const tabs = [
    { to: "/vault/tags", label: t("Tags") },
    { to: "/vault/ask", label: t("Ask") },
    { to: "/vault/check", label: t("Check") },
    { to: "/vault/filters", label: t("Filters") },
  ];
  return (
    <div className={styles.nav}>
      <header>
        {alone ? <h2>{t("Vault")}</h2> : <h1>{t("Vault")}</h1>}
        <IconButton
          icon={CalendarPlus}
          label={t("Today’s note")}
          onClick={() => router.go("/vault/today")}
        />
        <Link
          to="/vault/graph"
          className="icon-button"
          aria-label={t("Graph of all pages")}
          title={t("Graph of all pages")}
          aria-current={view === "graph" && page === null ? "page" : undefined}
        >
          <Waypoints size={18} strokeWidth={1.75} aria-hidden />
        </Link>
        <IconButton
          icon={FolderPlus}
          label={t("New folder")}
          onClick={() => tree.ask({ kind: "folder", folder: page ? folderOf(page) : "" })}
        />
        <IconButton icon={FilePlus2} label={t("New page")} onClick={onNew} />
      </header>
      <TabLinks label={t("Views of the vault")} current={`/vault/${view}`} tabs={tabs} />
      <Finder pages={pages} query={query} onQuery={setQuery} onOpen={go} />
      {problem && !entries && <ProblemNotice problem={problem} onRetry={() => void vault.read()} />}
      {!entries && !problem && <Skeleton lines={6} label={t("Loading the vault")} />}
      {entries && !query.trim() && <Tree root={root} current={page} actions={tree} onOpen={go} />}
      {entries && (
        <footer>
          {t("{count, plural, one {# page} other {# pages}}", { count: pages.paths.length })}
        </footer>
      )}
    </div>
  );
}

/** Above a view that is no page: the way back to the list. */
/** What stands beside the tree while no page is open. */
function Begin({ known, onNew }: { known: readonly string[]; onNew: () => void }) {
  const isNew = known.length <= 1;
  const title = isNew ? t("Your vault") : t("No page is open");
  return (
    <div className={styles.page}>
      <Empty icon={isNew ? FolderTree : BookOpen} title={title}>
        <p>
          {isNew
            ? t(
                "Your vault is a folder of Markdown files. Any editor can open them, the agent reads and updates them, and recall searches them. Start with the page about yourself.",
              )
            : t("Choose a page from the tree, or search for it.")}
        </p>
        <div className="actions">
          {known.includes(FIRST) && (
            <Link className="button primary" to={addressOfPage(FIRST)}>
              {t("Open {page}", { page: FIRST })}
            </Link>
          )}
          <Button icon={FilePlus2} onClick={onNew}>
            {t("New page")}
          </Button>
        </div>
      </Empty>
    </div>
  );
}
