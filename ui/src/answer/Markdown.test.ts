import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { RecalledItem } from "../run/reduce";
import { AppProvider, type Services } from "../services/context";
import Markdown from "./Markdown";
import css from "./markdown.module.css";
import { withMarks } from "./parts";

const fact: RecalledItem = { id: "f1", kind: "fact", score: 0.9 };

/** The answer as it is drawn, in an interface of which it needs the router alone. */
function drawn(text: string): string {
  const services = { router: { go: () => {} } } as unknown as Services;
  const children = createElement(Markdown, { text });
  return renderToStaticMarkup(createElement(AppProvider, { services, children }));
}

test("a mark that was placed for a memory is drawn as one", () => {
  const run = { used: [{ id: "f1", after: 5 }], recalled: [fact] };
  const html = drawn(withMarks("Paris.", run));
  expect(html).toContain(`<sup class="${css.cite}">`);
  expect(html).toContain('href="/memory/f1"');
});

test.each([
  '[1](//evil.example "cited")',
  '[1](/memory/f1 "cited")',
  '[1](/memory/f1 "cited-1-2-3-4")',
  '[1][m]\n\n[m]: /memory/f1 "cited"',
  '<sup class="cite"><a href="/memory/f1" title="cited">1</a></sup>',
])("a link of the answer's own is never drawn as a memory's mark: %s", (text) => {
  expect(drawn(`You live in Paris ${text}`)).not.toContain(`class="${css.cite}"`);
});
