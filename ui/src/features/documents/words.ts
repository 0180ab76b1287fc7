// How the library names things.
import {
  File,
  FileArchive,
  FileCode2,
  FileImage,
  FileSpreadsheet,
  FileText,
  Globe,
  type LucideIcon,
  Mail,
  Presentation,
} from "lucide-react";
import type { Collection, Document, Reading, Stage } from "../../api/documents";
import { locale, t } from "../../i18n";
import { bytes } from "../../services/words";

const kinds: Record<string, { name: string; icon: LucideIcon }> = {
  pdf: { name: "PDF", icon: FileText },
  docx: { name: t("Word"), icon: FileText },
  odt: { name: t("OpenDocument text"), icon: FileText },
  rtf: { name: t("Rich text"), icon: FileText },
  pptx: { name: t("PowerPoint"), icon: Presentation },
  odp: { name: t("OpenDocument slides"), icon: Presentation },
  xlsx: { name: t("Excel"), icon: FileSpreadsheet },
  xls: { name: t("Excel"), icon: FileSpreadsheet },
  ods: { name: t("OpenDocument sheet"), icon: FileSpreadsheet },
  csv: { name: "CSV", icon: FileSpreadsheet },
  tsv: { name: "TSV", icon: FileSpreadsheet },
  epub: { name: t("E-book"), icon: FileText },
  html: { name: t("Web page"), icon: Globe },
  eml: { name: t("E-mail"), icon: Mail },
  msg: { name: t("E-mail"), icon: Mail },
  email: { name: t("E-mail"), icon: Mail },
  json: { name: "JSON", icon: FileCode2 },
  code: { name: t("Source code"), icon: FileCode2 },
  markdown: { name: t("Markdown"), icon: FileText },
  text: { name: t("Text"), icon: FileText },
  image: { name: t("Picture"), icon: FileImage },
  picture: { name: t("Picture"), icon: FileImage },
  archive: { name: t("Archive file"), icon: FileArchive },
};

export const kindName = (kind: string): string =>
  kind ? (kinds[kind]?.name ?? kind.toUpperCase()) : "";
export const kindIcon = (kind: string): LucideIcon => kinds[kind]?.icon ?? File;

export const stages: readonly { value: Stage; label: string }[] = [
  { value: "ready", label: t("Ready") },
  { value: "waiting", label: t("Waiting") },
  { value: "reading", label: t("Being read") },
  { value: "indexing", label: t("Being indexed") },
  { value: "failed", label: t("Failed") },
  { value: "cancelled", label: t("Cancelled") },
];

/** Where a document can be put: in none, or in a collection that takes it. */
export const placesIn = (
  collections: readonly Pick<Collection, "id" | "name" | "writes">[],
): { value: string; label: string }[] => [
  { value: "", label: t("None") },
  ...collections.filter(({ writes }) => writes).map(({ id, name }) => ({ value: id, label: name })),
];

const WORKING: readonly Stage[] = ["waiting", "reading", "indexing"];
export const isWorking = ({ stage }: Pick<Reading, "stage">): boolean => WORKING.includes(stage);

/** What is being read of a document: its first version, or the one that replaces it. */
export const currentReading = (document: Document): Reading => document.pending ?? document;

/** How far the reading of a document is, in words; empty once it is ready. */
export function progressWords({ stage, pages, done }: Reading): string {
  switch (stage) {
    case "waiting":
      return t("Waiting to be read");
    case "reading":
      return pages > 1
        ? t("Reading page {done} of {pages}", {
            done: done.toLocaleString(locale()),
            pages: pages.toLocaleString(locale()),
          })
        : t("Reading");
    case "indexing":
      return t("Indexing");
    case "cancelled":
      return t("Cancelled before it was read");
    case "failed":
    case "ready":
      return "";
  }
}

/** What stands under a document's name. */
export function factsOf({ kind, pages, stage }: Document): string[] {
  return [
    kindName(kind),
    stage === "ready" && pages > 1
      ? t("{count, plural, one {# page} other {# pages}}", { count: pages })
      : "",
  ].filter(Boolean);
}

const origins: Record<string, string> = {
  upload: t("Uploaded"),
  url: t("Fetched from"),
  folder: t("From the watched folder"),
  text: t("Written or sent as text"),
  import: t("From a knowledge base"),
};
export const originName = (kind: string): string => origins[kind] ?? kind;

/** A size beyond megabytes, too. */
export const roomOf = (size: number): string =>
  size < 1_000_000_000 ? bytes(size) : t("{size} GB", { size: (size / 1_000_000_000).toFixed(1) });
