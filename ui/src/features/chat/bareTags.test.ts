import { expect, test } from "vitest";
import { bareTags } from "./bareTags";

test("styles, scripts, handlers and comments go, spans and the text of cells stay", () => {
  const html = `<STYLE scoped>td { color: red }</style><!-- <td>no</td> --><table style="x" border=1>
<th colspan="2" onclick='a()'>a > b &amp; style="c"</th><td  class="a>b" style='y' rowspan=3>d</td></TABLE>`;
  expect(bareTags(html)).toBe(
    `<table>\n<th colspan="2">a > b &amp; style="c"</th><td rowspan=3>d</td></TABLE>`,
  );
});

test("what is not whole stays text, or goes", () => {
  expect(bareTags("1 < 2 and <b>3</b>")).toBe("1 &lt; 2 and <b>3</b>");
  expect(bareTags('<td>a</td><td title="open')).toBe("<td>a</td><td>");
  expect(bareTags("x<script>alert(1)")).toBe("x");
});

test("a long page without an end is read once, not again from each of its tags", () => {
  expect(bareTags('<a "'.repeat(250_000))).toBe("<a>");
  expect(bareTags("<style>".repeat(140_000))).toBe("");
  expect(bareTags("<!-- ".repeat(200_000))).toBe("");
});
