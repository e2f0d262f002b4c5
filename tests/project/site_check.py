"""Check the built site: every link, picture and fragment exists, and nothing is loaded from another server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class PageLinks(HTMLParser):
    """The ids of a page, its links, and the files that a browser loads with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := values.get(name))}
        if source := values.get("src"):
            self.loads.add(source)
        if target := values.get("href"):
            is_loaded = tag == "link" and values.get("rel") not in ("canonical", "prev", "next", "alternate")
            (self.loads if is_loaded else self.links).add(target)


def find_faults(site: Path) -> list[str]:
    """Return the faults of the pages below a folder, one line each."""
    pages = {file: PageLinks(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    faults = [
        f"{file.relative_to(site)}: {fault}"
        for file, page in pages.items()
        for fault in _page_faults(file, page, pages)
    ]
    for style in site.rglob("*.css"):
        foreign = re.findall(r"url\([\"']?(https?:[^)\"']*)", style.read_text(encoding="utf-8"))
        faults += [f"{style.relative_to(site)}: loads {url} from another server" for url in foreign]
    return faults


def _page_faults(file: Path, page: PageLinks, pages: dict[Path, PageLinks]) -> Iterator[str]:
    yield from (f"loads {url} from another server" for url in page.loads if urlsplit(url).netloc)
    for link in sorted(page.links | page.loads):
        url = urlsplit(link)
        if url.scheme or url.netloc:
            continue
        target = (file.parent / unquote(url.path)).resolve() if url.path else file
        target = target / "index.html" if target.is_dir() else target
        if file.name == "404.html" and url.path.startswith("/"):
            continue  # the page that a server sends for any address names the others from the root
        if not target.exists():
            yield f"{link} leads nowhere"
        elif url.fragment and target in pages and unquote(url.fragment) not in pages[target].ids:
            yield f"{link}: no such heading"
