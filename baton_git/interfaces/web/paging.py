"""Lists that go on on another page."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, urlencode

from baton_git.interfaces.web.page_controller import Asked


class Paging(NamedTuple):
    """Which part of a list is shown; the addresses of its neighbours keep what else was asked for."""

    number: int
    first: int
    newer: str | None
    older: str | None

    @classmethod
    def of(cls, asked: Asked, size: int, total: int | None = None, *, more: bool = False) -> Paging:
        """The page that was asked for.

        Args:
            total: how many entries there are, where that is known; else `more` says whether any follow.
        """
        number = asked.number("page")
        if total is not None:
            number = min(number, max(1, -(-total // size)))
            more = number * size < total
        newer = _at(asked, number - 1) if number > 1 else None
        return cls(number, (number - 1) * size, newer, _at(asked, number + 1) if more else None)


def _at(asked: Asked, number: int) -> str:
    kept = {name: value for name, value in asked.query.items() if name not in ("page", "done") and value}
    given = {**kept, **({"page": str(number)} if number > 1 else {})}
    return "?" + urlencode(given, quote_via=quote, safe="", errors="surrogatepass")
