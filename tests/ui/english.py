"""English words on a page: what was forgotten where it is shown in another language."""

from __future__ import annotations

import re

from playwright.sync_api import Page

_WORDS = (
    r"the|of|and|is|are|to|with|for|that|this|has|have|from|your|you|what|which|be|been|can|there|here|"
    r"their|they|or|if|than|when|where|who|into|only|does|did|but|how|nothing|without|before|after|"
    r"until|every|its|it|by|at|as|on|no|because|these|those|any|each|some|more|most|such|then|once|"
    r"should|would|could|may|might|must|give|write|choose|search|add|remove|change|yours|yourself|"
    r"pages|files"
)
_ENGLISH = re.compile(rf"(?<![\w’'./_/-])(?:{_WORDS})(?![\w/_-])")
"""Words that people write in small letters; German nouns have a capital, and abbreviations have several."""

_SHOWN = """() => {
  const skipped = 'code, pre, kbd, script, noscript, style, [lang=en], [data-tool] > div, .cm-editor';
  const found = new Set();
  const take = (text) => text && found.add(text.replace(/\\s+/g, ' ').trim());
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (parent && !parent.closest(skipped)) take(walker.currentNode.textContent);
  }
  for (const each of document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')) {
    if (each.closest(skipped)) continue;
    for (const name of ['aria-label', 'title', 'placeholder', 'alt', 'aria-valuetext', 'aria-description'])
      take(each.getAttribute(name));
  }
  return [...found];
}"""


def english(page: Page) -> list[str]:
    """What the page shows or says aloud that has English words in it.

    Aside from code, from what is marked as English, and from what went into a call and came out of it.
    """
    return sorted(text for text in page.evaluate(_SHOWN) if _ENGLISH.search(text))
