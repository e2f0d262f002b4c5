"""Names, URLs, settings and the environment: which parts of the user's setup apply, and which must have no effect."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import threading

import pytest
from remote_world import INCOMING, SECONDS, X
from servers import LOGIN

from baton_git.core.errors import NotFound, RemoteError, Unreachable
from baton_git.git.remotes import Push, PushAccepted, open_remote, remote_address, remote_names


def test_a_remote_has_a_name_and_an_address_without_password(make_place, git):
    place = make_place("http")
    environment = place.environment()
    assert remote_names(place.repository, environment) == ()
    git(place.top, "remote", "add", "origin", place.served.url)
    git(place.top, "remote", "add", "team/other", "short:r.git")
    git(place.top, "config", "url.ssh://git@example.org/.insteadOf", "short:")
    assert remote_names(place.repository, environment) == ("origin", "team/other")
    names = ("origin", "team/other", "../near", "short:x", "/a/b")
    addresses = {name: remote_address(place.repository, name, environment) for name in names}
    assert addresses == {
        "origin": place.served.url, "team/other": "ssh://git@example.org/r.git",
        "../near": str(place.top.parent / "near"), "short:x": "ssh://git@example.org/x", "/a/b": "/a/b",
    }  # fmt: skip
    first = place.commit(X, "first")
    remote = place.remote("origin")
    assert remote.name == "origin"
    assert place.remote().name == place.served.url.replace(LOGIN, "***")
    assert place.push(X, first, None) == PushAccepted()
    assert place.fetch_refs({X: INCOMING}, "origin") == {X: first}


@pytest.mark.parametrize("name", ["upstream", "", "--upload-pack=touch x", "-x"])
def test_an_unknown_remote_is_not_found_and_the_error_has_a_hint(make_place, git, name):
    place = make_place("path")
    git(place.top, "remote", "add", "origin", "git://127.0.0.1/x.git")
    for call in (open_remote, remote_address):
        with pytest.raises(NotFound) as caught:
            call(place.repository, name, place.environment())
        assert caught.value.hint


def test_a_relative_path_is_resolved_from_the_top_of_the_work_tree(make_place, git, tmp_path, monkeypatch):
    ada = make_place("path")
    first = ada.commit(X, "first")
    ada.push(X, first, None)
    (tmp_path / "near.git").symlink_to(ada.served.bare)
    git(ada.top, "remote", "add", "near", "../near.git")
    monkeypatch.chdir("/")
    assert ada.fetch_refs({X: INCOMING}, "near") == {X: first}
    assert ada.fetch_refs({X: INCOMING}, "../near.git") == {X: first}


def test_a_file_url_can_be_used(make_place):
    ada, bob = make_place("file", name="ada"), make_place("file", name="bob")
    first = ada.commit(X, "first")
    assert ada.push(X, first, None) == PushAccepted()
    assert bob.fetch() == first


def test_headers_and_rewritten_addresses_of_the_user_are_used(make_place, git, monkeypatch, tmp_path):
    place = make_place("http")
    bare_url = place.served.url.replace(f"{LOGIN}@", "")
    home = tmp_path / "someone"
    home.mkdir()
    login = base64.b64encode(LOGIN.encode()).decode()
    (home / ".gitconfig").write_text(
        f'[http "{bare_url}"]\n\textraHeader = "Authorization: Basic {login}"\n'
        f'[url "{bare_url}"]\n\tinsteadOf = memory:\n'
    )
    extra = {"HOME": str(home)}
    there = type(place)(place.top, place.served, extra)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    git(place.top, "remote", "add", "origin", "memory:")
    first = place.commit(X, "first")
    assert there.remote("origin").push([Push(X, first, None)], seconds=SECONDS) == {X: PushAccepted()}
    assert there.fetch_refs({X: INCOMING}, "origin") == {X: first}


def test_the_users_proxy_is_used_unless_no_proxy_excludes_the_host(make_place):
    place = make_place("http")
    start, _, name = place.served.url.rpartition("/")
    proxy = start.replace(f"{LOGIN}@", "")  # a server that uses only the path of a URL can act as a proxy
    url = f"http://{LOGIN}@memory.invalid/{name}"
    through = type(place)(place.top, place.served, {"http_proxy": proxy})
    first = place.commit(X, "first")
    assert through.remote(url).push([Push(X, first, None)], seconds=SECONDS) == {X: PushAccepted()}
    assert through.fetch_refs({X: INCOMING}, url) == {X: first}
    past = type(place)(place.top, place.served, {"http_proxy": proxy, "no_proxy": "x.org, .invalid"})
    with pytest.raises(Unreachable):
        past.fetch_refs({X: INCOMING}, url)


def test_a_credential_helper_knows_the_password(make_place, git, tmp_path):
    place = make_place("http")
    base = place.served.url.rpartition("/")[0]
    (tmp_path / "passwords").write_text(f"{base}\n")
    git(place.top, "config", "credential.helper", f"store --file={tmp_path}/passwords")
    git(place.top, "remote", "add", "origin", place.served.url.replace(f"{LOGIN}@", ""))
    first = place.commit(X, "first")
    assert place.remote("origin").push([Push(X, first, None)], seconds=SECONDS) == {X: PushAccepted()}
    assert place.fetch_refs({X: INCOMING}, "origin") == {X: first}


def test_the_variables_of_a_surrounding_git_hook_are_ignored_and_no_hooks_run(make_place, tmp_path, git):
    """Inside a hook, variables such as GIT_DIR can name another repository. A fetch or push of baton runs no hooks of
    the user's repository."""
    ada = make_place("path", name="ada")
    hooks = ada.top / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-push").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "reference-transaction").write_text(f'#!/bin/sh\necho "$BATON_HOOK" >> {tmp_path}/seen\n')
    for hook in hooks.iterdir():
        hook.chmod(0o755)
    lost = {
        name: str(tmp_path / "nowhere")
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
                     "GIT_QUARANTINE_PATH", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
    }  # fmt: skip
    place = type(ada)(ada.top, ada.served, lost)
    first = place.commit(X, "first")
    assert place.push(X, first, None) == PushAccepted()
    assert place.fetch() == first
    assert not (tmp_path / "seen").exists()
    assert place.tip_there() == first


def test_only_the_wanted_branch_of_ten_thousand_is_asked_for(make_place, tmp_path):
    place = make_place("daemon", GIT_TRACE_PACKET=str(tmp_path / "trace"))
    first = place.commit(X, "first")
    place.push(X, first, None)
    with (place.served.bare / "packed-refs").open("w") as packed:
        packed.write("# pack-refs with: peeled fully-peeled sorted \n")
        packed.writelines(f"{first} refs/heads/baton/z{number:05}\n" for number in range(10_000))
    (tmp_path / "trace").unlink()
    assert place.fetch() == first
    assert len((tmp_path / "trace").read_text().splitlines()) < 100


def test_eight_fetches_of_one_branch_at_once_all_succeed(make_place):
    place = make_place("path")
    first = place.commit(X, "first")
    place.push(X, first, None)
    found = []
    threads = [threading.Thread(target=lambda: found.append(place.fetch())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [first] * 8


def test_progress_is_reported_by_lines(make_place):
    place = make_place("http")
    place.served.hook("post-receive", "echo well done")
    lines: list[str] = []
    remote = place.remote(progress=lines.append)
    outcome = remote.push([Push(X, place.commit(X, "first"), None)], seconds=SECONDS)
    assert outcome == {X: PushAccepted()}
    assert "remote: well done" in lines
    assert all(line.isprintable() and line for line in lines)


def test_a_partial_clone_gets_the_whole_memory(make_place, git, tmp_path):
    ada = make_place("file", name="ada")
    git(ada.served.bare, "config", "uploadpack.allowFilter", "true")
    first = ada.commit(X, "first")
    ada.push(X, first, None)
    bob = make_place("file", name="bob")
    git(bob.top, "remote", "add", "origin", bob.served.url)
    git(bob.top, "config", "remote.origin.promisor", "true")
    git(bob.top, "config", "remote.origin.partialclonefilter", "blob:none")
    assert bob.fetch_refs({X: INCOMING}, "origin") == {X: first}
    with bob.store() as store:
        entry = store.folder(store.commit(first).tree)
        assert entry is not None
    assert git(bob.top, "cat-file", "-t", f"{first}:open_loops/first.toml") == "blob"


def test_without_git_on_the_path_one_line_reports_it(make_place, tmp_path):
    place = make_place("path")
    environment = {**place.environment(), "PATH": str(tmp_path)}
    with pytest.raises(RemoteError, match="the git program is not on the PATH") as caught:
        open_remote(place.repository, place.served.url, environment)
    assert caught.value.hint == "install git, which baton uses to contact remotes"


@pytest.mark.parametrize("kind", ["bare", "linked", "sha256"])
def test_push_and_fetch_work_in_every_kind_of_repository(make_place, git, tmp_path, kind):
    place = make_place("path")
    if kind == "linked":
        git(place.top, "commit", "-q", "--allow-empty", "-m", "first")
        git(place.top, "worktree", "add", "-q", str(tmp_path / kind))
    options = {"bare": ["--bare"], "sha256": ["--object-format=sha256"]}.get(kind)
    served = place.served
    if options:
        git(tmp_path, "init", "-q", *options, kind)
    if kind == "sha256":
        git(tmp_path, "init", "-q", "--bare", *(options or ()), "there.git")
        served = type(served)(str(tmp_path / "there.git"), tmp_path / "there.git")
    here = type(place)(tmp_path / kind, served, {})
    first = here.commit(X, "first")
    assert here.push(X, first, None) == PushAccepted()
    assert here.fetch() == here.tip(INCOMING) == first


def test_importing_the_remotes_loads_no_heavy_modules():
    code = (
        "import sys, baton_git.git.remotes\n"
        "print([name for name in ('urllib3', 'dulwich.client', 'dulwich.config') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.strip() == "[]"
