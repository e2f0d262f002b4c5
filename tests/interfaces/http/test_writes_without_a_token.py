"""A server without a token writes in no person's name, and every interface says that nobody knows who wrote."""

from __future__ import annotations

import asyncio
import re
import subprocess
from typing import Any

import httpx2
import pytest

from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings

TOKEN = "a-long-secret"
AUTHOR = "unauthenticated client <unauthenticated@localhost>"
WORDS = "written over HTTP without a token"


def plant(server: Any) -> None:
    """Write through every API of a server."""
    document = {"session_id": "s-1", "active_decisions": [{"id": "AD-1", "what": "planted", "why": "so"}]}
    server.post("/v1/baton/write", {"namespace": server.namespace, "baton": document})
    server.post("/checkpoint/zero", {"conversation_summary": "planted"}, code=201)
    server.post("/v1/follow-ups", {"item": "planted by the api"}, code=None)
    server.post("/v1/boot", {})


@pytest.fixture
def shop(baton: Any) -> None:
    baton("init", "--namespace", "shop")


def test_no_writer_without_a_token_has_the_name_of_the_repositorys_owner(shop, baton, serve, git, top):
    begun = git(top, "rev-parse", "baton/shop")
    plant(serve(namespace="shop"))
    made = git(top, "log", "--format=%an <%ae>%n%cn <%ce>", f"{begun}..baton/shop").splitlines()
    assert len(made) >= 8
    assert set(made) == {AUTHOR}
    trailers = git(top, "log", "--format=%(trailers:key=Baton-Client,valueonly,separator=)", f"{begun}..baton/shop")
    assert set(trailers.splitlines()) == {"unauthenticated"}
    assert git(top, "reflog", "show", "--format=%gn", "-1", "baton/shop") == "unauthenticated client"


def test_with_a_token_the_owner_is_the_author_and_nothing_says_otherwise(shop, serve, git, top):
    begun = git(top, "rev-parse", "baton/shop")
    plant(serve(namespace="shop", token=TOKEN))
    assert AUTHOR not in git(top, "log", "--format=%an <%ae>", f"{begun}..baton/shop")
    assert "Baton-Client" not in git(top, "log", f"{begun}..baton/shop")


def test_a_click_on_a_page_without_a_login_says_so_too(shop, serve, git, top):
    begun = git(top, "rev-parse", "baton/shop")
    url = serve(namespace="shop").url
    with httpx2.Client(base_url=url, headers={"Origin": url}) as browser:
        page = browser.get("/n/shop/do/add-follow-up").text
        token = re.search(r'name="csrf_token" value="([^"]+)"', page)[1]
        form = {"csrf_token": token, "item": "planted by a click"}
        done = browser.post(
            "/n/shop/do/add-follow-up", data=form, headers={"Origin": str(browser.base_url).rstrip("/")}
        )
        assert done.status_code == 303, done.text
    assert git(top, "log", "--format=%an <%ae>", f"{begun}..baton/shop") == AUTHOR


def test_list_show_brief_log_and_api_say_that_there_was_no_token(shop, baton, serve):
    server = serve(namespace="shop")
    plant(server)
    own = baton("followup", "add", "my own", "--namespace", "shop").out.strip()
    listed = baton("list", "followups", "--namespace", "shop").out
    [planted] = [line for line in listed.splitlines() if "planted by the api" in line]
    assert "no token" in planted
    assert [line for line in listed.splitlines() if "no token" in line and "my own" in line] == []
    id_ = next(word for word in planted.split() if word.startswith("FU-"))
    assert WORDS in baton("show", id_, "--namespace", "shop").out
    assert WORDS not in baton("show", own, "--namespace", "shop").out
    assert "[no token" in baton("boot", "--namespace", "shop").out
    assert "unauthenticated client" in baton("log", "--namespace", "shop").out
    assert server.get(f"/v1/records/follow_up/{id_}").json()["provenance"]["kind"] == "unauthenticated"


def test_an_edit_without_a_token_makes_the_text_a_text_of_nobody_known(shop, baton, serve):
    id_ = baton("decision", "add", "mine", "--why", "so", "--namespace", "shop").out.strip()
    assert WORDS not in baton("show", id_, "--namespace", "shop").out
    serve(namespace="shop").post(f"/v1/records/{id_}/edit", {"fields": {"why": "because"}})
    assert WORDS in baton("show", id_, "--namespace", "shop").out


def test_nothing_without_a_token_is_signed_with_the_owners_key(shop, baton, serve, git, top, tmp_path):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    git(top, "config", "baton.signingKey", str(key))
    begun = git(top, "rev-parse", "baton/shop")
    plant(serve(namespace="shop"))
    assert "gpgsig" not in git(top, "log", "--format=raw", f"{begun}..baton/shop")
    plant(serve(namespace="shop", token=TOKEN))
    assert "gpgsig" in git(top, "log", "--format=raw", f"{begun}..baton/shop")


def test_tools_over_http_without_a_token_say_so_too(shop, git, top):
    app = Call(Settings(CommonOptions(str(top), "shop", None, None)))
    begun = git(top, "rev-parse", "baton/shop")

    async def plant_by_a_tool() -> None:
        from mcp.client import Client  # half a second, which every worker of pytest would pay while it collects

        from baton_git.interfaces.mcp.server import make_mcp_server  # as above

        async with Client(make_mcp_server(app, over_http=True, is_open=True)) as client:
            await client.call_tool("followup_add", {"item": "planted by a tool"})

    asyncio.run(plant_by_a_tool())
    assert git(top, "log", "--format=%an <%ae>", f"{begun}..baton/shop") == AUTHOR
