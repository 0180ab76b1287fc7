import {
  ArrowLeft,
  Download,
  Ellipsis,
  FileText,
  FolderInput,
  Image,
  MessageSquareText,
  PanelRight,
  Pencil,
  Search,
  Tag,
  Trash2,
  Waypoints,
  ZoomIn,
  ZoomOut,
} from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import type { Document } from "../../api/documents";
import { locale, t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Menu, type MenuItem } from "../../kit/Popover";
import { Link, PHONE, Segmented, useMedia } from "../../kit/pieces";
import type { Asked } from "./DocumentDialogs";
import { download } from "./DocumentRow";
import viewer from "./Viewer.module.css";

export type Face = "pdf" | "picture" | "text";
export type Shown = { page: number; count: number; zoom: number; face: Face };

type HeadProps = {
  document: Document;
  content: string;
  shown: Shown;
  /** How the original is shown; text if it is not. */
  face: Face;
  details: boolean;
  onFace: (face: Face) => void;
  onPage: (page: number) => void;
  onZoom: (by: 1 | -1) => void;
  onFind: () => void;
  onDetails: () => void;
  onAsk: (what: Asked["what"]) => void;
  onChat: () => void;
  onGraph: () => void;
};

/** The page that is shown; another number leads there. */
function PageNumber({
  page,
  count,
  onPage,
}: Pick<Shown, "page" | "count"> & Pick<HeadProps, "onPage">) {
  const [typed, setTyped] = useState<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever scrolls has left what they typed
  useEffect(() => setTyped(null), [page]);
  const go = (event: FormEvent) => {
    event.preventDefault();
    const number = Number(typed);
    setTyped(null);
    if (Number.isInteger(number) && number >= 1) onPage(Math.min(number, count));
  };
  return (
    <form className={viewer.pageNumber} onSubmit={go}>
      <input
        className="input"
        inputMode="numeric"
        aria-label={t("Page, of {count}", { count })}
        value={typed ?? page}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={go}
      />
      <span aria-hidden>{t("of {pages}", { pages: count.toLocaleString(locale()) })}</span>
    </form>
  );
}

/** A phone has room for a few buttons; the others are in the menu there. */
function itemsOf(props: HeadProps, phone: boolean): MenuItem[] {
  const { document, content, shown, onZoom, onAsk } = props;
  const { id, name, has_original: hasOriginal } = document;
  const zoom = [
    { label: t("Larger"), icon: ZoomIn, run: () => onZoom(1) },
    { label: t("Smaller"), icon: ZoomOut, run: () => onZoom(-1) },
  ];
  const folded = [
    ...(shown.face === "pdf" ? zoom : []),
    { label: t("Ask about it"), icon: MessageSquareText, run: props.onChat },
    { label: t("Details"), icon: PanelRight, run: props.onDetails },
  ];
  const original = {
    label: t("Download the original"),
    icon: Download,
    run: () => download(id, content, name),
  };
  return [
    ...(phone ? folded : []),
    ...(hasOriginal ? [original] : []),
    { label: t("In the graph"), icon: Waypoints, run: props.onGraph },
    { label: t("Rename"), icon: Pencil, run: () => onAsk("rename") },
    { label: t("Move"), icon: FolderInput, run: () => onAsk("move") },
    { label: t("Tags"), icon: Tag, run: () => onAsk("tag") },
    { label: t("Remove"), icon: Trash2, run: () => onAsk("remove"), fault: true },
  ];
}

export function ViewerHead(props: HeadProps) {
  const { document, shown, face, details, onFace, onZoom } = props;
  const { name } = document;
  const phone = useMedia(PHONE);
  return (
    <PageHead
      title={<span title={name}>{name}</span>}
      isLong
      lead={
        <Link
          to="/documents"
          className="icon-button"
          aria-label={t("All documents")}
          data-tip={t("All documents")}
        >
          <ArrowLeft size={18} aria-hidden />
        </Link>
      }
    >
      {shown.count > 1 && shown.face !== "picture" && (
        <PageNumber page={shown.page} count={shown.count} onPage={props.onPage} />
      )}
      {shown.face === "pdf" && !phone && (
        <>
          <IconButton icon={ZoomOut} label={t("Smaller")} onClick={() => onZoom(-1)} />
          <IconButton icon={ZoomIn} label={t("Larger")} onClick={() => onZoom(1)} />
        </>
      )}
      {face !== "text" && (
        <Segmented
          label={t("How it is shown")}
          value={shown.face === "text" ? "text" : "original"}
          options={[
            { value: "original", label: t("Original"), icon: Image },
            { value: "text", label: t("Text"), icon: FileText },
          ]}
          onChange={(value) => onFace(value === "text" ? "text" : face)}
        />
      )}
      {shown.face !== "picture" && (
        <IconButton icon={Search} label={t("Find in this document")} onClick={props.onFind} />
      )}
      {!phone && (
        <>
          <IconButton icon={MessageSquareText} label={t("Ask about it")} onClick={props.onChat} />
          <IconButton
            icon={PanelRight}
            label={t("Details")}
            aria-pressed={details}
            onClick={props.onDetails}
          />
        </>
      )}
      <Menu icon={Ellipsis} label={t("More for {name}", { name })} items={itemsOf(props, phone)} />
    </PageHead>
  );
}
