"""Build the documentation site: `python tests/project/build_site.py [FOLDER]` writes it to site/ or FOLDER."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tomli_w
from site_check import find_faults
from site_pages import TOP, find_assets, read_config, read_pages, unescape_pipes
from site_reference import make_reference

FOREIGN_WORKER = "https://unpkg.com/iframe-worker/shim"
"""The script that the generator's theme loads for pages in a local folder; `docs/site/worker.js` replaces it."""

NOT_FOUND = (
    "<h1>404 - Not found</h1>",
    """<h1>There is no such page</h1>
<p>It may have moved: search for a word of its title, or begin at <a href="/index.html">the front page</a>.</p>""",
)
"""The theme's text for an address without a page, and the text that replaces it."""


def write_sources(folder: Path) -> None:
    """Write the input of the site generator."""
    pages = {**read_pages(), **make_reference()}
    config = read_config(set(pages))
    (folder / "zensical.toml").write_text(tomli_w.dumps(config), encoding="utf-8")
    for place, text in pages.items():
        file = folder / "pages" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(unescape_pipes(text), encoding="utf-8")
    for place, asset in find_assets().items():
        (folder / "pages" / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(asset, folder / "pages" / place)


def build_site(target: Path) -> list[str]:
    """Build the site into a folder, replacing the folder; return the faults, one line each.

    Raises:
        CalledProcessError: the generator found a fault and has printed it.
    """
    with tempfile.TemporaryDirectory() as scratch:
        write_sources(Path(scratch))
        subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=scratch, check=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(Path(scratch) / "site", target)
    for page in target.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        worker = os.path.relpath(target / "site" / "worker.js", page.parent)
        if page.name == "404.html":
            text, worker = text.replace(*NOT_FOUND), "/site/worker.js"
        page.write_text(text.replace(FOREIGN_WORKER, worker), encoding="utf-8")
    is_short = NOT_FOUND[1] not in (target / "404.html").read_text(encoding="utf-8")
    return [*find_faults(target), *(["404.html: its heading is another one than NOT_FOUND has"] if is_short else [])]


if __name__ == "__main__":
    faults = build_site(Path(sys.argv[1]) if len(sys.argv) > 1 else TOP / "site")
    print(*faults, sep="\n")
    sys.exit(1 if faults else 0)
