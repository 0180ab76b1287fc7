// The text of a page as it is in its file, with completion of links behind `[[`.
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { caretIn } from "./caret";
import { folderOf, named, titleOf } from "./treeRows";
import { openLink, type Pages } from "./wikilinks";

const SHOWN = 8;

type EditorProps = {
  path: string;
  text: string;
  pages: Pages;
  onType: (text: string) => void;
  onSave: () => void;
};

export function Editor({ path, text, pages, onType, onSave }: EditorProps) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const [caret, setCaret] = useState<number | null>(null);
  const [at, setAt] = useState(0);
  const link = caret === null ? null : openLink(text, caret);
  const found = link ? offered(pages, link.typed, path) : [];
  const chosen = Math.min(at, found.length - 1);
  const place = link && found.length && area.current ? caretIn(area.current, link.start) : null;
  const complete = (to: string | undefined) => {
    const box = area.current;
    if (!link || !box || !to || caret === null) return;
    const behind = text.slice(caret).startsWith("]]") ? 2 : 0;
    const name = `${pages.shortest(to, path)}]]`;
    // Typed as a person would, so that the browser's own undo takes it back.
    box.setSelectionRange(link.start, caret + behind);
    if (!document.execCommand("insertText", false, name)) {
      onType(`${text.slice(0, link.start)}${name}${text.slice(caret + behind)}`);
    }
    setCaret(null);
  };
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      event.preventDefault();
      return onSave();
    }
    if (!found.length || event.nativeEvent.isComposing) return;
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 }[event.key];
    if (to !== undefined) setAt((to + found.length) % found.length);
    else if (event.key === "Enter" || event.key === "Tab") complete(found[chosen]);
    else if (event.key === "Escape") setCaret(null);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [id, chosen]);
  return (
    <div className="vault-editor">
      <textarea
        ref={area}
        value={text}
        aria-label={`Text of ${titleOf(path)}`}
        aria-autocomplete="list"
        aria-controls={found.length ? id : undefined}
        aria-activedescendant={found.length ? `${id}-${chosen}` : undefined}
        spellCheck
        placeholder="Write in Markdown. Type [[ to link another page."
        onChange={(event) => {
          onType(event.target.value);
          setCaret(event.target.selectionStart);
          setAt(0);
        }}
        onSelect={(event) => {
          const { selectionStart: start, selectionEnd: end } = event.currentTarget;
          if (caret !== null && (start !== end || start !== caret)) setCaret(null);
        }}
        onScroll={() => setCaret(null)}
        onBlur={() => setCaret(null)}
        onKeyDown={press}
      />
      {place && (
        <div
          id={id}
          role="listbox"
          aria-label="Pages to link"
          className="link-menu scroll"
          style={{ insetBlockStart: place.top, insetInlineStart: place.left }}
        >
          {found.map((one, i) => (
            <div
              key={one}
              id={`${id}-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === chosen}
              onPointerDown={(event) => {
                event.preventDefault();
                complete(one);
              }}
            >
              <span className="clip">{titleOf(one)}</span>
              {folderOf(one) && <small className="clip">{folderOf(one)}</small>}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

function offered(pages: Pages, typed: string, path: string): string[] {
  const others = pages.paths.filter((one) => one !== path);
  return typed.trim() ? named(others, typed, SHOWN) : others.slice(0, SHOWN);
}
