// The editor's own styles. Its library would put them into a style element, which the page's policy refuses;
// a sheet that is adopted needs no exception. As a layer, it never wins over the page's styles.
import { StyleModule } from "style-mod";

const sheets = new WeakMap<StyleModule, CSSStyleSheet>();

function sheetOf(module: StyleModule): CSSStyleSheet {
  const known = sheets.get(module);
  if (known) return known;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`@layer editor { ${module.getRules()} }`);
  sheets.set(module, sheet);
  return sheet;
}

export function adoptStyles(): void {
  StyleModule.mount = (root, modules) => {
    const wanted = [modules].flat().map(sheetOf);
    const others = root.adoptedStyleSheets.filter((sheet) => !wanted.includes(sheet));
    root.adoptedStyleSheets = [...others, ...wanted];
  };
}
