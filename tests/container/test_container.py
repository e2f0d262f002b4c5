"""Dockerfile and compose.yaml without a container engine: they are read as by an engine, and their commands are run."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest
import yaml
from looped_cases import for_each

from baton_git.interfaces.cli import COMMANDS

TOP = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((TOP / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
TOKEN = {"BATON_API_TOKEN": "a-long-secret"}


def instructions(text):
    """Return each instruction of a Dockerfile with its arguments."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def stages(text):
    """Return the instructions of each stage of a Dockerfile."""
    found = []
    for word, rest in instructions(text):
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


BUILD, FINAL = stages((TOP / "Dockerfile").read_text())


def only(stage, word):
    """Return the arguments of the only instruction `word` of a stage."""
    (found,) = [rest for name, rest in stage if name == word]
    return found


def environment():
    pairs = (word.partition("=") for rest in [only(FINAL, "ENV")] for word in shlex.split(rest))
    return {name: value for name, _, value in pairs}


def copied(stage):
    """Return the files of the checkout that a stage copies."""
    words = [shlex.split(rest) for word, rest in stage if word in ("COPY", "ADD") and not rest.startswith("--from=")]
    return [source for line in words for source in line[:-1]]


def is_ignored(path, rules):
    """Return whether .dockerignore excludes a path: the last rule that matches it, or a folder above it, decides."""
    above = [path, *(str(one) for one in Path(path).parents if str(one) != ".")]
    deciding = [rule for rule in rules if any(matches(one, rule.removeprefix("!").strip("/")) for one in above)]
    return bool(deciding) and not deciding[-1].startswith("!")


def matches(path, pattern):
    parts, wanted = path.split("/"), pattern.split("/")
    if wanted[0] == "**":
        return any(matches("/".join(parts[start:]), "/".join(wanted[1:])) for start in range(len(parts)))
    return len(parts) == len(wanted) and all(fnmatch.fnmatchcase(*pair) for pair in zip(parts, wanted, strict=True))


def rules():
    lines = (line.strip() for line in (TOP / ".dockerignore").read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


# --- the image


def test_the_base_is_one_exact_version():
    bases = {stage[0][1].split()[0] for stage in (BUILD, FINAL)}
    assert len(bases) == 1
    assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", bases.pop())


def test_every_source_of_a_copy_exists_and_is_sent_to_the_engine():
    assert copied(FINAL) == []
    for source in copied(BUILD):
        assert (TOP / source).exists(), source
        assert not is_ignored(source, rules()), source


def test_all_sources_of_the_wheel_are_copied():
    project = tomllib.loads((TOP / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    needed |= {*wheel["packages"], *wheel["force-include"]}
    assert needed == set(copied(BUILD))
    assert "http" in project["project"]["optional-dependencies"]


@for_each("path", [".git", ".git/config", ".venv/bin/python", "tests/conftest.py", ".env", "data/state.git"])
def test_other_files_are_not_sent_to_the_container_engine(path):
    assert is_ignored(path, rules())


def test_the_reader_of_dockerignore_reads_as_an_engine_does():
    assert is_ignored("baton_git/git/store/__pycache__/x.pyc", rules())
    assert not is_ignored("baton_git/git/refs/refs.py", rules())
    assert is_ignored("a/b", ["a"])
    assert not is_ignored("a/b", ["a", "!a/b"])


def test_the_container_does_not_run_as_root():
    users = [rest for word, rest in FINAL if word == "USER"]
    assert users
    assert all(re.fullmatch(r"[1-9]\d*:[1-9]\d*", one) for one in users)
    after = FINAL[[word for word, _ in FINAL].index("USER") :]
    assert all(word != "RUN" for word, _ in after)
    assert f"--uid {users[-1].partition(':')[0]} " in only(FINAL, "RUN")
    assert not any("user" in one for one in SERVICES.values())


@pytest.mark.parametrize("word", ["ENTRYPOINT", "CMD"])
def test_signals_reach_the_server_without_a_shell_in_between(word):
    assert isinstance(json.loads(only(FINAL, word)), list)


def test_the_command_of_the_image_is_one_of_baton():
    assert json.loads(only(FINAL, "ENTRYPOINT")) == ["baton"]
    assert json.loads(only(FINAL, "CMD"))[0] in COMMANDS


def test_the_ports_and_folders_of_the_image_agree():
    port = environment()["BATON_PORT"]
    assert only(FINAL, "EXPOSE") == port
    assert SERVICES["server"]["ports"][0].endswith(f":{port}")
    assert environment()["BATON_REPO"].startswith(f"{only(FINAL, 'VOLUME')}/")
    assert f"{only(FINAL, 'VOLUME')} " in only(FINAL, "RUN").partition("install --directory")[2]


def test_the_image_contains_no_secret():
    assert "TOKEN" not in " ".join(environment())
    assert not any(word == "ARG" for stage in (BUILD, FINAL) for word, _ in stage)


# --- the commands of the image, run without a container


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def in_container(tmp_path, port, **added):
    """Return the image's environment, with /data in a folder of the test, listening on loopback only."""
    own = {name: value.replace("/data", str(tmp_path)) for name, value in environment().items() if name != "PATH"}
    return {**os.environ, **own, "BATON_HOST": "127.0.0.1", "BATON_PORT": port, **added}


def healthy(env):
    words = json.loads(only(FINAL, "HEALTHCHECK").partition("CMD ")[2])
    assert words[0] == "python"
    return subprocess.run([sys.executable, *words[1:]], env=env, capture_output=True).returncode == 0


@pytest.mark.slow
def test_the_server_starts_becomes_healthy_and_ends_at_sigterm(tmp_path):
    env = in_container(tmp_path, free_port(), **TOKEN)
    assert not healthy(env)
    words = [sys.executable, "-m", "baton_git", *json.loads(only(FINAL, "CMD"))]
    server = subprocess.Popen(words, env=env, cwd=tmp_path, stderr=subprocess.PIPE)
    try:
        began = time.monotonic()
        while not healthy(env):
            assert server.poll() is None, server.stderr.read()
            assert time.monotonic() < began + 20
        assert (tmp_path / "state.git" / "HEAD").exists()
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=20)
    assert server.returncode == 0


@pytest.mark.slow
def test_without_a_token_the_server_does_not_start_on_all_addresses(tmp_path):
    env = in_container(tmp_path, free_port(), BATON_HOST=environment()["BATON_HOST"])
    words = json.loads(only(FINAL, "CMD"))
    done = subprocess.run([sys.executable, "-m", "baton_git", *words], env=env, cwd=tmp_path, capture_output=True)
    assert done.returncode == 2
    assert b"BATON_API_TOKEN" in done.stderr


def composed(tmp_path, port, service="server", **given):
    """Return the environment of a service as an engine makes it: the image's, then the one of compose.yaml."""
    set_here = {"BATON_PUBLISHED_PORT": port, **given}

    def fill(text):
        return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: set_here.get(found[1]) or found[2], text)

    added = {name: fill(text) for name, text in SERVICES[service]["environment"].items()}
    return in_container(tmp_path, port, **{"BATON_HOST": environment()["BATON_HOST"], **added})


def ask(port, path, body, **headers):
    request = Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
    )
    with build_opener(ProxyHandler({})).open(request, timeout=20) as answer:
        return json.loads(answer.read())


@pytest.mark.slow
@pytest.mark.parametrize("token", [None, "a-long-secret-of-24-characters"])
def test_compose_up_works_as_written_without_a_token_and_with_one(tmp_path, token):
    port = free_port()
    env = composed(tmp_path, port, **({"BATON_API_TOKEN": token} if token else {}))
    words = [sys.executable, "-m", "baton_git", *json.loads(only(FINAL, "CMD"))]
    server = subprocess.Popen(words, env=env, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        while not healthy(env):
            assert server.poll() is None, server.stderr.read()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        written = ask(
            port,
            "/v1/baton/write",
            {"namespace": "my-project", "baton": {"session_id": "s", "context": "Shipped."}},
            **headers,
        )
        assert written["ok"]
        assert ask(port, "/v1/baton/read", {"namespace": "my-project"}, **headers)["baton"]["context"] == "Shipped."
        with pytest.raises(HTTPError) as refused:
            ask(port, "/v1/baton/read", {"namespace": "my-project"}, Host="10.0.0.7:9101")
        refused.value.close()
        assert refused.value.code == (401 if token else 421)
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=20)


@pytest.mark.slow
@for_each("published", ["9101:9101", "0.0.0.0:9101:9101"])
def test_a_server_that_others_reach_needs_a_token(tmp_path, published):
    env = {**composed(tmp_path, free_port()), "BATON_PUBLISHED": published}
    words = json.loads(only(FINAL, "CMD"))
    done = subprocess.run([sys.executable, "-m", "baton_git", *words], env=env, cwd=tmp_path, capture_output=True)
    assert done.returncode == 2
    assert f"(BATON_PUBLISHED is {published}), so a token is needed".encode() in done.stderr


def test_the_commands_of_compose_create_the_remote_and_sync_with_it(baton, git, tmp_path):
    remote, sync = SERVICES["remote"], SERVICES["sync"]
    folder = str(tmp_path / "remote")
    words = [word.replace("/remote", folder) for word in [*remote["entrypoint"], *remote["command"]]]
    for _ in range(2):  # it runs at every start
        subprocess.run(words, check=True)
    url = sync["environment"]["BATON_REMOTE_URL"]
    address = re.fullmatch(r"\$\{BATON_REMOTE_URL:-(.*)\}", url)[1].replace("/remote", folder)
    (script,) = sync["command"]
    line = re.search(r"do\s+(baton [^;]*); sleep", script)[1].replace('"$$BATON_REMOTE_URL"', address)
    pushes = tmp_path / "pushes"
    hook = Path(address) / "hooks" / "post-receive"
    hook.write_text(f"#!/bin/sh\necho push >>{shlex.quote(str(pushes))}\n")
    hook.chmod(0o755)
    for name in ("work", "other"):
        baton("init", "--namespace", name)
    baton(*shlex.split(line)[1:])
    assert git(Path(address), "for-each-ref", "--format=%(refname:lstrip=3)").split() == ["other", "work"]
    Path(address).rename(f"{address}-down")
    for name in ("work", "other"):
        baton("followup", "add", "written while the remote is down", "--namespace", name)
    baton(*shlex.split(line)[1:], code=1)
    Path(f"{address}-down").rename(address)
    for _ in range(2):
        baton(*shlex.split(line)[1:])
    assert "written while the remote is down" in git(Path(address), "log", "--format=%s", "baton/work", "baton/other")
    assert pushes.read_text().count("push") == 2  # one for all namespaces, none if nothing changed


# --- compose


def test_every_service_is_confined():
    for one in SERVICES.values():
        assert one["read_only"] is True
        assert one["cap_drop"] == ["ALL"]
        assert one["security_opt"] == ["no-new-privileges:true"]
        assert not {"privileged", "cap_add", "pid", "devices"} & set(one)


def test_only_the_server_is_published_and_on_loopback_only():
    published = {name: one["ports"] for name, one in SERVICES.items() if "ports" in one}
    assert list(published) == ["server"]
    assert all(port.startswith("127.0.0.1:") for port in published["server"])


def test_the_server_is_told_how_it_is_published_by_the_line_that_publishes_it():
    text = (TOP / "compose.yaml").read_text()
    exposed = yaml.safe_load(text.replace("127.0.0.1:${BATON_PUBLISHED_PORT:-9101}:9101", "9101:9101"))
    for compose in (COMPOSE, exposed):
        server = compose["services"]["server"]
        assert server["ports"] == [server["environment"]["BATON_PUBLISHED"]]
    with pytest.raises(
        yaml.YAMLError
    ):  # another line in its place without the mark is not accepted by an engine either
        yaml.safe_load(text.replace("&published ", ""))


def test_no_other_service_knows_the_token():
    assert [name for name, one in SERVICES.items() if "TOKEN" in str(one)] == ["server"]


def test_everything_that_services_refer_to_exists():
    for one in SERVICES.values():
        for name, needed in one.get("depends_on", {}).items():
            is_checked = not SERVICES[name].get("healthcheck", {}).get("disable")
            assert is_checked or needed["condition"] == "service_completed_successfully"
        for volume in one["volumes"]:
            source, target = volume.rsplit(":", 1)
            default = re.fullmatch(r"\$\{\w+:-(.*)\}", source)
            assert (default[1] if default else source) in COMPOSE["volumes"]
            assert f"{target} " in f"{only(FINAL, 'RUN')} "
    assert {one["image"] for one in SERVICES.values()} == {"baton-git"}
    assert [name for name, one in SERVICES.items() if "build" in one] == ["server"]


def test_a_service_that_ends_is_not_started_again_and_the_others_are():
    assert {name: one["restart"] for name, one in SERVICES.items()} == {
        "server": "unless-stopped", "remote": "no", "sync": "unless-stopped"
    }  # fmt: skip


def test_services_use_only_known_variables():
    known = {*environment(), *TOKEN, "BATON_PAGE_TOKEN", "BATON_REMOTE_URL", "BATON_SYNC_SECONDS"}
    assert {name for one in SERVICES.values() for name in one.get("environment", {})} <= known
