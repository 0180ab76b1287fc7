// The files of what is dropped or chosen, those in folders too, as far as the browser tells them.

type Files = { files: File[]; hidden: number };

const isHidden = (name: string) => name.startsWith(".") || name === "Thumbs.db";

/** Which files of a folder are taken: none that the system put there for itself. */
export function fitFiles(files: Iterable<File>): Files {
  const all = [...files];
  const fit = all.filter(
    ({ name, webkitRelativePath: path }) => !(path || name).split("/").some(isHidden),
  );
  return { files: fit, hidden: all.length - fit.length };
}

const fileOf = (entry: FileSystemFileEntry) =>
  new Promise<File>((resolve, reject) => entry.file(resolve, reject));

/** A folder gives its entries in portions, until one is empty. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (!some.length) return all;
    all.push(...some);
  }
}

async function inside(entry: FileSystemEntry, found: Files): Promise<void> {
  if (isHidden(entry.name)) found.hidden += 1;
  else if (entry.isFile) found.files.push(await fileOf(entry as FileSystemFileEntry));
  else
    for (const each of await entriesOf(entry as FileSystemDirectoryEntry))
      await inside(each, found);
}

/** What was dropped is told only while it is dropped: its entries are taken before anything is waited for. */
export async function filesIn(dropped: DataTransfer): Promise<Files> {
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const plain = [...dropped.files];
  if (!entries.some((entry) => entry?.isDirectory)) return { files: plain, hidden: 0 };
  const found: Files = { files: [], hidden: 0 };
  for (const entry of entries) if (entry) await inside(entry, found);
  return found;
}
