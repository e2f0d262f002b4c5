"""The content of records is only text on the page: it never becomes a tag, an attribute or an address."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

from planting import ID, LINK, PLANTED, SESSION, UNSAFE, planted_states

from baton_git.core.kinds import KINDS
from baton_git.core.state import Key, State
from baton_git.namespace.import_quarantine import ImportQuarantine, RefusedRow

TAGS = {
    "html", "head", "meta", "title", "link", "script", "body", "a", "header", "div", "img", "p", "span", "bdi", "form",
    "input", "button", "nav", "ul", "ol", "li", "main", "h1", "h2", "h3", "footer", "code", "pre", "section", "label",
    "details", "summary", "dl", "dt", "dd", "time", "meter", "fieldset", "legend", "textarea", "table", "caption",
    "thead", "tbody", "tr", "th", "td", "svg", "path", "circle", "blockquote", "b",
    "select", "option", "article",
}  # fmt: skip
"""All elements that occur in our templates."""


class Reader(HTMLParser):
    """A parser that collects the elements, attributes and addresses that a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src", "action", "formaction")]


def plant(served: Any) -> list[str]:
    """Write a record of every kind, live and closed; return the addresses of all pages that show them."""
    for state in planted_states():
        with served.site.work("shop", session=SESSION) as ws:
            edits = state.edits
            ws.update(
                "plant", served.site.now(), lambda tip, e=edits: State(tip.state.source, {**tip.state.edits, **e})
            )
    with served.site.work("shop") as ws:
        rows = [RefusedRow(PLANTED, PLANTED, {PLANTED: PLANTED})]
        ImportQuarantine(ws.branch.store.repository.common_dir, ws.branch.namespace).replace(PLANTED, rows, PLANTED)
        state = ws.branch.read().state
        keys = [Key(kind, one, old) for kind in KINDS for old in (False, True) for one in state.ids(kind, archived=old)]
    assert {key.kind for key in keys} == set(KINDS)
    return ["/", f"/search?q={quote(PLANTED[:60])}", *(served.path(page) for page in list_pages(keys))]


def list_pages(keys: list[Key]) -> list[str]:
    """Return the addresses, below that of the namespace, of the pages that show these records."""
    shown = ["board", "timeline", "commit/~0", "commit/~1", "compare?a=0", "lineage", "quarantine", "handed",
             "review", "conflicts",
             f"graduate?id={quote(ID)}", "back", "back?way=undo", "back?way=revision&revision=1",
             f"back?way=session&session={quote(SESSION)}", f"graduate?id={quote(ID)}&rule={quote(PLANTED)}",
             f"timeline?session={quote(PLANTED)}", f"recall?q={quote(PLANTED[:60])}",
             f"do/merge-patterns?id={quote(ID)}&into={quote(PLANTED)}&next={quote(PLANTED)}", f"trust?id={quote(ID)}",
             f"do/add-loop?action={quote(PLANTED)}", f"session?id={quote(SESSION)}",
             *(f"session?id={quote(key.id.partition('/')[2])}" for key in keys if key.kind == "handoff"),
             f"board?done=check-failed&about={quote(PLANTED)}&in={quote(PLANTED)}"]  # fmt: skip
    shown += [f"records?kind={kind}&archived={old}&q=" for kind in KINDS for old in ("", "1")]
    return shown + [f"record?kind={one.kind}&id={quote(one.id)}&archived={'1' if one.archived else ''}" for one in keys]


def test_markup_in_any_field_of_any_kind_stays_text(baton: Any, serve: Any) -> None:
    baton("init", "--namespace", "shop")
    served = serve()
    texts = ""
    for page in plant(served):
        text = served.get(page).text
        texts += text
        reader = Reader()
        reader.feed(text)
        assert set(reader.tags) <= TAGS, page
        assert not {name for name in reader.names if name.startswith("on")} - {"one"}, page
        assert "autofocus" not in reader.names
        assert reader.tags.count("img") == reader.tags.count("script") == 1, page
        assert all(one.startswith(("/", "#", "?")) for one in reader.addresses), page
        assert set(UNSAFE.findall(text)) == set(), page
    assert "&lt;script&gt;alert(1)" in texts
    assert "{{7*7}}" in texts
    assert LINK in texts
    assert "\\u202egnp.exe\\x07" in texts
