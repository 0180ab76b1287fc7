import { Check, Copy, Download, PanelRight, WrapText } from "lucide-react";
import { memo, useLayoutEffect, useRef, useState } from "react";
import { t } from "../i18n";
import { IconButton } from "../kit/Button";
import { useApp } from "../services/context";
import { formatOf } from "../services/pane";
import css from "./CodeBlock.module.css";
import { CHUNK_LINES, type Coloured } from "./colours";
import { download, fileNameOf } from "./download";
import { chunksOf, useColours } from "./useColours";
import { useCopied } from "./useCopy";

/** Longer code is folded to about this many lines. */
const FOLDED_LINES = 40;
/** Longer code is laid out where it is seen alone. */
const LONG_LINES = 120;

const linesIn = (text: string) => text.split("\n").length;

type ChunkProps = { text: string; coloured: Coloured | undefined; isLong: boolean };

const Chunk = memo(function Chunk({ text, coloured, isLong }: ChunkProps) {
  const isTrue = coloured?.map(([piece]) => piece).join("") === text;
  const style = isLong ? { containIntrinsicBlockSize: `${linesIn(text) - 1}lh` } : undefined;
  return (
    <span className={isLong ? `${css.chunk} ${css.apart}` : css.chunk} style={style}>
      {isTrue
        ? coloured?.map(([piece, colour], i) =>
            colour ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: pieces keep their place
              <span key={i} className={css[colour]}>
                {piece}
              </span>
            ) : (
              piece
            ),
          )
        : text}
    </span>
  );
});

type ToolsProps = { text: string; language: string; wraps: boolean; onWrap: () => void };

function Tools({ text, language, wraps, onWrap }: ToolsProps) {
  const { pane } = useApp();
  const { copied, copy } = useCopied();
  const format = formatOf(language);
  return (
    <span className={css.tools}>
      {format && (
        <IconButton
          icon={PanelRight}
          size={15}
          label={t("Open in pane")}
          onClick={() => pane.show({ format, language, text })}
        />
      )}
      <IconButton
        icon={WrapText}
        size={15}
        label={t("Wrap lines")}
        aria-pressed={wraps}
        onClick={onWrap}
      />
      <IconButton
        icon={Download}
        size={15}
        label={t("Download the code")}
        onClick={() => download(fileNameOf(language), text)}
      />
      <IconButton
        icon={copied ? Check : Copy}
        size={15}
        label={copied ? t("Copied") : t("Copy the code")}
        onClick={() => copy(text)}
      />
    </span>
  );
}

type CodeProps = { language: string; text: string; isOpen?: boolean };

/** Code in its colours, with its language and what can be done with it. While it `isOpen`, more of it is on its way. */
export const CodeBlock = memo(function CodeBlock({ language, text, isOpen = false }: CodeProps) {
  const [wraps, setWraps] = useState(false);
  const [isUnfolded, setUnfolded] = useState(false);
  const box = useRef<HTMLPreElement>(null);
  const chunks = chunksOf(text);
  const last = chunks.at(-1) ?? "";
  const coloured = useColours(language, text, isOpen ? last : null);
  const lines = (chunks.length - 1) * CHUNK_LINES + linesIn(last);
  const isFolded = lines > FOLDED_LINES && !isUnfolded;
  useLayoutEffect(() => {
    // What is being written is what is read.
    if (isOpen && isFolded && text && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [isOpen, isFolded, text]);
  const look = `${css.text} ${wraps ? css.wrapped : ""} ${isFolded ? css.folded : ""}`;
  return (
    <figure className={css.code}>
      <figcaption>
        <span>{language || t("text")}</span>
        <Tools text={text} language={language} wraps={wraps} onWrap={() => setWraps(!wraps)} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled with the keyboard */}
      <pre ref={box} className={look} tabIndex={0}>
        <code>
          {chunks.map((chunk, i) => (
            <Chunk
              // biome-ignore lint/suspicious/noArrayIndexKey: code only grows; its chunks keep their place
              key={i}
              text={chunk}
              coloured={coloured[i]}
              isLong={lines > LONG_LINES}
            />
          ))}
        </code>
      </pre>
      {lines > FOLDED_LINES && (
        <button
          type="button"
          className={css.fold}
          aria-expanded={isUnfolded}
          onClick={() => setUnfolded(!isUnfolded)}
        >
          {isUnfolded
            ? t("Show fewer lines")
            : t("Show all {lines, plural, one {# line} other {# lines}}", { lines })}
        </button>
      )}
    </figure>
  );
});
