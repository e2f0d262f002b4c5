"""Open pages receive changes, with few connections, and nothing is logged when one of them closes."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
from test_pages import some_work


def test_a_closed_page_leaves_nothing_in_the_log(baton: Any, serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    some_work(baton)
    served = serve()
    served.get("board")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            with served.client.stream("GET", served.path("events")) as answer:
                lines = answer.iter_lines()
                next(lines)
                time.sleep(0.2)
        time.sleep(0.3)
    assert caplog.records == []


def test_a_page_without_a_stream_can_request_the_newest_revision(baton: Any, serve: Any) -> None:
    some_work(baton)
    served = serve()
    served.get("board")
    found = served.get("events?now").json()
    assert found["commit"] == served.site.tip("shop")
    assert found["revision"] > 5
    locked = serve(token="secret")
    locked.get("events?now", code=401)
