"""Checks of files, processes, ports, commits and people, with real ones."""

import os
import socket
import subprocess
import sys
import time

import pytest
from looped_cases import for_each

from baton_git.checks.outcome import CheckSpec, Failed, Passed, Unknown, World
from baton_git.checks.process_running import list_names
from baton_git.checks.runner import PROBES
from baton_git.core.errors import NotARepository

NOWHERE = World()


def ask(method, world=NOWHERE, **fields):
    return PROBES[method](CheckSpec(method, **fields), world)


def test_a_file_is_found_relative_to_the_work_tree(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_text("x")
    world = World(folder=tmp_path)
    assert ask("file_exists", world, path="a/b.txt") == Passed()
    assert ask("file_exists", world, path="a") == Passed()
    assert ask("file_exists", path=str(tmp_path / "a" / "b.txt")) == Passed()
    assert ask("file_exists", world, path="a/none") == Failed("there is no a/none")
    assert ask("file_exists", world, path="a/b.txt/c") == Failed("there is no a/b.txt/c")


def test_a_tilde_is_a_name_like_any_other(tmp_path):
    assert isinstance(ask("file_exists", World(folder=tmp_path), path="~"), Failed)
    (tmp_path / "~").write_text("x")
    assert ask("file_exists", World(folder=tmp_path), path="~") == Passed()


def test_a_dangling_link_is_not_a_file(tmp_path):
    (tmp_path / "link").symlink_to("gone")
    assert isinstance(ask("file_exists", World(folder=tmp_path), path="link"), Failed)


@pytest.mark.parametrize("path", [None, "", "relative.txt"])
def test_without_a_path_or_a_work_tree_nothing_is_known(path):
    assert isinstance(ask("file_exists", path=path), Unknown)


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "loop/x"])
def test_a_path_the_system_refuses_is_unknown(tmp_path, path):
    (tmp_path / "loop").symlink_to("loop")
    assert isinstance(ask("file_exists", World(folder=tmp_path), path=path), Unknown)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_unknown(tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    assert isinstance(ask("file_exists", World(folder=tmp_path), path="closed/x"), Unknown)


@pytest.fixture
def started():
    processes = []

    def start(*argv, **options):
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        processes.append(process)
        process.stdout.readline()  # now it runs its own program; before exec, it is a copy of this process
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


WAIT = "import sys; print(flush=True); sys.stdin.read()"


def test_a_script_run_by_an_interpreter_is_found_by_its_name(tmp_path, started):
    script = tmp_path / "baton_probe_app.py"
    script.write_text(WAIT)
    assert ask("process_running", process_name=script.name) == Failed(f"no process {script.name} is running")
    process = started(sys.executable, "-W", "ignore", str(script))
    assert ask("process_running", process_name=script.name) == Passed()
    process.kill()  # a zombie until it is waited for
    time.sleep(0.05)
    assert isinstance(ask("process_running", process_name=script.name), Failed)


def test_a_program_is_found_by_its_own_name(tmp_path, started):
    program = tmp_path / "baton-probe-prog"
    program.symlink_to(sys.executable)
    started(str(program), "-c", WAIT)
    assert ask("process_running", process_name="baton-probe-prog") == Passed()


def test_a_name_that_is_only_mentioned_is_not_running(started):
    started(sys.executable, "-c", WAIT, "mentioned-app.py")
    assert isinstance(ask("process_running", process_name="mentioned-app.py"), Failed)


def test_a_process_check_ignores_its_own_process_and_its_ancestors():
    code = (
        "import sys; from baton_git.checks.runner import PROBES;"
        "from baton_git.checks.outcome import CheckSpec, World;"
        "print(PROBES['process_running'](CheckSpec('process_running', process_name=sys.argv[1]), World()))"
    )
    inner = [sys.executable, "-c", code, "mentioned-by-us"]
    outer = ["sh", "-c", '"$@"; true', "sh", *inner]
    assert "Failed" in subprocess.run(outer, capture_output=True, text=True, check=True).stdout


def test_no_process_name_is_unknown():
    assert isinstance(ask("process_running"), Unknown)


@for_each(
    ("argv", "names"),
    [
        (["/usr/sbin/nginx", "-g", "daemon off;"], {"nginx"}),
        (["python3.11", "-u", "/srv/app.py", "other.py"], {"python3.11", "/srv/app.py", "app.py"}),
        (["python", "-X", "dev", "-m", "http.server", "80"], {"python", "http.server"}),
        (["node", "--require", "x", "server.js"], {"node", "server.js"}),
        (["python", "-c", "app.py"], {"python"}),
        (["vim", "app.py"], {"vim"}),
        (["bash"], {"bash"}),
        ([""], {""}),
        ([], set()),
    ],
)
def test_a_process_is_known_by_its_program_and_its_script_or_module(argv, names):
    assert set(list_names(argv)) == names


def test_an_open_port_passes_and_a_closed_one_fails():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert ask("port_open", host="127.0.0.1", port=port) == Passed()
        assert ask("port_open", port=port) == Passed()
    assert ask("port_open", host="127.0.0.1", port=port) == Failed(f"nothing listens on 127.0.0.1 port {port}")


@for_each(
    ("host", "port"),
    [
        ("127.0.0.1", None),
        ("127.0.0.1", 0),
        ("127.0.0.1", 70000),
        ("169.254.169.254", 80),
        ("10.0.0.1", 22),
        ("x.invalid", 1),
    ],
)
def test_a_port_that_cannot_be_tried_is_unknown(host, port):
    assert isinstance(ask("port_open", host=host, port=port), Unknown)


def test_a_port_that_does_not_respond_is_unknown():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(3)]  # fill the backlog, so the next connect hangs
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        time.sleep(0.05)
        outcome = ask("port_open", host="127.0.0.1", port=address[1], timeout_seconds=0.2)
        for one in waiting:
            one.close()
    assert outcome == Unknown("no answer within 0.2 s")


def test_a_commit_is_looked_up_with_the_callers_function():
    asked = []

    def find(text, branch):
        asked.append((text, branch))
        return "a" * 40 if text == "Fix the build" else None

    world = World(find_commit=find)
    assert ask("git_commit", world, commit="Fix the build", branch="main") == Passed(commit="a" * 40)
    assert ask("git_commit", world, commit="x", branch="main") == Failed("'x' is not on main")
    assert asked == [("Fix the build", "main"), ("x", "main")]


def test_a_commit_that_cannot_be_searched_is_unknown():
    def broken(text, branch):
        raise NotARepository("no repository in /x")

    assert isinstance(ask("git_commit", World(find_commit=broken)), Unknown)
    assert ask("git_commit", World(find_commit=broken), commit="x") == Unknown("no repository in /x")
    assert isinstance(ask("git_commit", commit="x"), Unknown)


def test_a_manual_check_is_unknown_and_shows_its_note():
    assert ask("manual", note="is the logo blue?") == Unknown("needs a person: is the logo blue?")
    assert ask("manual") == Unknown("needs a person")
