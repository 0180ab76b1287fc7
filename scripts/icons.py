"""Write the icons of the installed page from ui/public/icon.svg: `PYTHONPATH=. python scripts/icons.py`."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.ui.running import FLAGS, chromium

PUBLIC = Path(__file__).parents[1] / "ui" / "public"
MASKED_PART = 0.75
"""Of an icon that a system cuts to its own shape (W3C manifest: a circle of 80 % is sure to be seen)."""


def page_of(svg: str, size: int, *, part: float, ground: str) -> str:
    """A page that is the icon."""
    inner = round(size * part)
    return (
        f"<style>body{{margin:0;width:{size}px;height:{size}px;display:grid;place-items:center;background:{ground}}}"
        f"svg{{width:{inner}px;height:{inner}px}}</style>{svg}"
    )


def main() -> None:
    """Write the files."""
    svg = (PUBLIC / "icon.svg").read_text(encoding="utf-8")
    (PUBLIC / "icons").mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for name, size, part, ground in (
            ("icon-192", 192, 1.0, "transparent"),
            ("icon-512", 512, 1.0, "transparent"),
            ("maskable-512", 512, MASKED_PART, "#2c4a86"),
        ):
            page = browser.new_page(viewport={"width": size, "height": size})
            page.set_content(page_of(svg, size, part=part, ground=ground))
            page.screenshot(path=PUBLIC / "icons" / f"{name}.png", omit_background=True)
        browser.close()


if __name__ == "__main__":
    main()
