import { Check, Copy } from "lucide-react";
import { type ReactNode, useState } from "react";
import { IconButton } from "../kit/Button";

const COPIED_MS = 1500;

/** Code with its language and a way to copy it; `text` is what is copied. */
export function CodeFigure(props: { language: string; text: string; children?: ReactNode }) {
  const { language, text, children = text } = props;
  const [copied, setCopied] = useState(false);
  const copy = () =>
    navigator.clipboard?.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), COPIED_MS);
    });
  return (
    <figure className="code">
      <figcaption>
        <span>{language || "text"}</span>
        <IconButton
          icon={copied ? Check : Copy}
          size={15}
          label={copied ? "Copied" : "Copy the code"}
          onClick={copy}
        />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled with the keyboard */}
      <pre tabIndex={0}>{children}</pre>
    </figure>
  );
}
