// What Markdown is made of wherever it is shown: in answers, and in pages.
import type { ReactNode } from "react";
import type { Components } from "react-markdown";

export const Abroad = ({ href, children }: { href: string | undefined; children: ReactNode }) => (
  <a href={href} target="_blank" rel="noreferrer noopener">
    {children}
  </a>
);

export const pieces: Components = {
  // Nothing is fetched from elsewhere because a text names it: a picture is a link to it.
  img: ({ src, alt }) => (
    <Abroad href={typeof src === "string" ? src : undefined}>{alt || "Image"}</Abroad>
  ),
  input: ({ node: _, ...box }) => <input {...box} aria-label={box.checked ? "Done" : "To do"} />,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard
    <section className="table" aria-label="Table" tabIndex={0}>
      <table>{children}</table>
    </section>
  ),
};
