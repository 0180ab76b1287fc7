// Markdown as elements, block by block: only what is new of a growing text is parsed. Raw HTML in it stays text.
import { memo, useMemo, useRef } from "react";
import ReactMarkdown, { type Options } from "react-markdown";
import { directions } from "./directions";
import { Formula } from "./Formula";
import css from "./MarkdownBlocks.module.css";
import { Verbatim } from "./pieces";
import { type Block, Splitter, withoutOpenEnd } from "./splitter";

const rehypePlugins = [directions];

export type How = Pick<Options, "remarkPlugins" | "components" | "urlTransform">;

const TextBlock = memo(function TextBlock({ text, ...how }: How & { text: string }) {
  return (
    <ReactMarkdown {...how} rehypePlugins={rehypePlugins}>
      {text}
    </ReactMarkdown>
  );
});

const CodeOrDiagram = memo(Verbatim);

function BlockView({ block, how }: { block: Block; how: How }) {
  switch (block.kind) {
    case "text":
      return <TextBlock text={block.text} {...how} />;
    case "code":
      return <CodeOrDiagram language={block.language} text={block.text} isOpen={block.isOpen} />;
    case "formula":
      return block.isOpen ? (
        <pre className={css.open}>{block.text}</pre>
      ) : (
        <Formula tex={block.text} isDisplay />
      );
  }
}

/** The blocks of a text; one that goes on where it ended is not read again. */
function useBlocks(text: string): readonly Block[] {
  const held = useRef(new Splitter());
  return useMemo(() => {
    if (!text.startsWith(held.current.text)) held.current = new Splitter();
    held.current.push(text.slice(held.current.text.length));
    return held.current.blocks();
  }, [text]);
}

/** All blocks of a text; how they are drawn must stay the same objects. */
export function MarkdownBlocks({ text, how, grows }: { text: string; how: How; grows: boolean }) {
  const blocks = useBlocks(text);
  const asShown = (block: Block, i: number): Block => {
    if (block.kind !== "text") return grows ? block : { ...block, isOpen: false };
    const isOpen = grows && i === blocks.length - 1;
    return isOpen ? { ...block, text: withoutOpenEnd(block.text) } : block;
  };
  return blocks.map((block, i) => (
    <BlockView
      // biome-ignore lint/suspicious/noArrayIndexKey: a text grows at its end; its blocks keep their place
      key={i}
      block={asShown(block, i)}
      how={how}
    />
  ));
}
