import { expect, test } from "vitest";
import { t } from ".";
import { catalogue, server } from "./de";
import { teller } from "./sentences";

const say = (sentence: string, values: Record<string, unknown> = {}) =>
  (catalogue[sentence] ?? sentence).replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
const told = teller(catalogue, server, say);

test("a sentence of the server's is found as it stands, and by what it fills in", () => {
  expect(told("This cannot be undone.")).toBe("Das lässt sich nicht rückgängig machen.");
  expect(told("There is a user ada already.")).toBe("Es gibt schon einen Benutzer ada.");
  expect(told("This would change 1,200 records at once.")).toContain("1.200 Einträge");
  expect(t("There is a user ada already.")).toBe("There is a user ada already.");
});

test("sentences inside of others, and beside each other, are found too", () => {
  expect(told("Nothing was changed. max_steps: Field required; model: No model is set.")).toMatch(
    /^Nichts wurde geändert\. /,
  );
  const refused = "openai:x refused the request (400). It says: “broken”";
  expect(told(refused)).toBe("openai:x lehnte die Anfrage ab (400). Es sagt: „broken“");
  expect(told("There is no such user. You are signed out: sign in again.")).toBe(
    "Diesen Benutzer gibt es nicht. Du bist abgemeldet: Melde dich wieder an.",
  );
});

test("what is not the server's own stays as it is", () => {
  expect(told("Rains all day")).toBe("Rains all day");
  const listing = "This cannot be undone.\n\n- **2 memories**\n- Read the book\n- and 3 more";
  expect(told(listing)).toBe(
    "Das lässt sich nicht rückgängig machen.\n\n- **2 Erinnerungen**\n- Read the book\n- und 3 weitere",
  );
});
