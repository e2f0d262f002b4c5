"""The names of this machine in texts: what is shortened, what never is, and the way back."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_git.core.local_names import NOTHING, LocalNames

HOME, SHOP, FEAT, OUTSIDE = "/home/ada", "/home/ada/shop", "/home/ada/trees/feat", "/srv/copy of shop"
NAMES = LocalNames(
    SHOP,
    {SHOP: "wt-aaaaaa", FEAT: "wt-bbbbbb", OUTSIDE: "wt-cccccc"},
    HOME,
    {"/data/users/ada": HOME, "/data/users/ada/shop": SHOP, "D:\\work\\shop": SHOP},
    host="ada-laptop-7",
    login="ada",
    machine="machine-1",
)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("cd /home/ada/shop && make", "cd . && make"),
        ("cd /home/ada/shop/ && make", "cd ./ && make"),
        ("edit /home/ada/shop/src/a.py:10, then stop", "edit src/a.py:10, then stop"),
        ("I read /home/ada/shop.", "I read .."),
        ("(see `/home/ada/notes.txt`)", "(see `~/notes.txt`)"),
        ("in /home/ada/trees/feat/x.py and '/srv/copy of shop/y'", "in wt-bbbbbb/x.py and 'wt-cccccc/y'"),
        ("/home/ada is home", "~ is home"),
        ("PATH=/usr/bin:/home/ada/bin:/bin", "PATH=/usr/bin:~/bin:/bin"),
        ("gcc -I/home/ada/shop/include -L/home/ada/lib", "gcc -Iinclude -L~/lib"),
        ("docker run -v /home/ada/shop:/app", "docker run -v .:/app"),
        ('{"file": "/home/ada/shop/a.py"}', '{"file": "a.py"}'),
        ('"text\\n/home/ada/shop/a.py\\n"', '"text\\na.py\\n"'),
        ("\x1b[35m/home/ada/shop/a.py\x1b[0m", "\x1b[35ma.py\x1b[0m"),
        ("at file:///home/ada/shop/a.mjs:3:1", "at a.mjs:3:1"),
        ("file:///home/ada/notes.md and file:///etc/x", "~/notes.md and file:///etc/x"),
        ("rm /home/ada/shop/-rf /home/ada/shop/~x", "rm ./-rf ./~x"),
        ("/data/users/ada/shop/a.py and /data/users/ada/x", "a.py and ~/x"),
        (r"C:\Users\ada\notes.txt and C:\Users\ada\shop\src\a.py", "~/notes.txt and src/a.py"),
        (r'{"cwd": "c:\\Users\\ada\\shop"}', '{"cwd": "."}'),
        (r"D:\work\shop\a.py", "a.py"),
        ("~/.claude/projects/-home-ada-shop/1.jsonl", "~/.claude/projects/-wt-aaaaaa/1.jsonl"),
        ("/home/ada/.claude/projects/-home-ada-other", "~/.claude/projects/-~-other"),
        ("ls /home/ad… [cut]", "ls /home/ad… [cut]"),
        ("ls /home/ada… [cut]", "ls ~… [cut]"),
        ("Ran: cat /home/ada/sho...", "Ran: cat ...."),
        ("Ran: cat /home/ada/trees/fea...", "Ran: cat wt-bbbbbb..."),
        ("@/home/ada/shop/a.py", "@a.py"),
    ],
)
def test_a_path_on_this_machine_is_shortened(text: str, stored: str) -> None:
    assert NAMES.shorten_text(text) == stored
    assert NAMES.shorten_text(stored) == stored


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/home/ada/shop/a.py",
        "http://localhost:3000/@fs/home/ada/shop/a.py?path=/home/ada/shop",
        "vscode://file/home/ada/shop/a.py:10",
        "sqlite:////home/ada/shop/db.sqlite",
        "/home/ada2/shop and /home/ada-old and /home/adam",
        "/mnt/backup/home/ada/shop and ./home/ada and var/home/ada",
        "/home/ada.bak and /home/ada@2 and /home/ada+x",
        "/home/äda and /homé/ada",
        "/etc/passwd, /usr/bin/env",
        r"C:\Users\adam\x and C:\home\ada",
        "a~/b and ~/c and ~ada/x",
        "ada and shop",
        "",
    ],
)
def test_other_text_is_left_alone(text: str) -> None:
    assert NAMES.shorten_text(text, from_transcript=True) is text or NAMES.shorten_text(text) == text


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("ada@ada-laptop-7:~/shop$ make", "user@machine-1:~/shop$ make"),
        ("on ada-laptop-7, not on ada-laptop-70", "on machine-1, not on ada-laptop-70"),
        ("ADA-LAPTOP-7.local is up", "machine-1 is up"),
        ("http://ada-laptop-7:8080/health", "http://ada-laptop-7:8080/health"),
        ("mail bob@ada-laptop-7.example.org", "mail bob@ada-laptop-7.example.org"),
        ("git@ada-laptop-7:shop.git", "git@ada-laptop-7:shop.git"),
        ("~/.config/ada-laptop-7.conf /etc/ada-laptop-7/x", "~/.config/ada-laptop-7.conf /etc/ada-laptop-7/x"),
    ],
)
def test_a_distinctive_host_name_of_a_transcript_is_the_name_of_the_machine(text: str, stored: str) -> None:
    assert NAMES.shorten_text(text, from_transcript=True) == stored
    assert NAMES.shorten_text(text) == text


def test_a_host_with_an_ordinary_name_is_replaced_only_after_the_login() -> None:
    names = LocalNames(host="server", login="ada", machine="machine-1")
    text = "the server answers; ada@server:~$ ls"
    assert names.shorten_text(text, from_transcript=True) == "the server answers; user@machine-1:~$ ls"


def test_a_path_as_a_whole_may_contain_spaces() -> None:
    assert NAMES.shorten_path("/srv/copy of shop 2/a b.py") == "/srv/copy of shop 2/a b.py"
    value = {"files_modified": ["/home/ada/shop/my notes.txt"], "path": "/home/ada/shop two/x", "worktree": FEAT}
    assert NAMES.shorten(value) == {
        "files_modified": ["my notes.txt"], "path": "~/shop two/x", "worktree": "wt-bbbbbb",
    }  # fmt: skip


def test_arguments_of_a_command_are_shortened_only_as_a_whole() -> None:
    argv = ["/home/ada/shop/run", "--config=/home/ada/x.toml", "/home/ada/shop/tests", "-c", "cat '/home/ada/y'"]
    stored = ["./run", "--config=~/x.toml", "tests", "-c", "cat '/home/ada/y'"]
    assert NAMES.shorten({"argv": argv}) == {"argv": stored}
    assert NAMES.shorten_arguments(stored) == tuple(stored)
    assert NAMES.expand_arguments(stored) == (
        "./run", "--config=/home/ada/x.toml", "tests", "-c", "cat '/home/ada/y'"
    )  # fmt: skip


def test_what_is_stored_already_and_what_names_something_elsewhere_stays() -> None:
    value = {"url": "/home/ada/shop", "text": "/home/ada/shop/x", "more": ["/home/ada/shop/y", "z"]}
    assert NAMES.shorten(value, known={"/home/ada/shop/x"}) == {**value, "more": ["y", "z"]}
    assert NAMES.shorten(same := {"a": ["b", {"c": 1}]}) is same
    assert NOTHING.shorten(value) is value


def test_a_file_system_that_ignores_case_is_searched_without_case() -> None:
    names = LocalNames("/Users/Ada/Shop", {"/Users/Ada/Shop": "wt-aaaaaa"}, "/Users/Ada", ignores_case=True)
    assert names.shorten_text("open /users/ada/shop/Src/A.py and /USERS/ADA/x") == "open Src/A.py and ~/x"
    assert names.shorten_path("/users/ada/SHOP/Src/A.py") == "Src/A.py"


def test_a_root_as_home_or_work_tree_replaces_nothing() -> None:
    assert LocalNames("/", {"/": "wt-aaaaaa"}, "/").shorten_text("cat /etc/passwd") == "cat /etc/passwd"


_NAME = st.text(st.sampled_from("ab-~. äwt6"), min_size=1, max_size=9).filter(lambda name: name not in (".", ".."))
_PATHS = st.builds(
    lambda top, names, end: "/".join([top, *names]) + end,
    st.sampled_from([HOME, SHOP, FEAT, OUTSIDE, "/home/ada/shop two", "/etc", "/home/adam"]),
    st.lists(_NAME | st.sampled_from(["wt-aaaaaa", "wt-zzzzzz", "", "~", "-home-ada-shop", "-home-ada"]), max_size=4),
    st.sampled_from(["", "/"]),
)


@given(
    _PATHS.filter(lambda path: path.startswith(("/home/ada/", "/srv/")) or "/-" not in path),
    st.sampled_from([SHOP, FEAT, OUTSIDE, HOME]),
)
def test_a_shortened_path_resolves_to_the_same_file(path: str, work_tree: str) -> None:
    names = NAMES.at(work_tree)
    stored = names.shorten_path(path)
    assert names.resolve(stored) == path
    assert names.shorten_path(stored) == stored
    assert not stored.startswith((f"{HOME}/", f"{SHOP}/"))


def test_a_temporary_folder_named_after_a_folder_is_shortened() -> None:
    stored = NAMES.shorten_path("/tmp/claude-1000/-home-ada-shop/tasks/b.output")
    assert stored == "/tmp/claude-1000/-wt-aaaaaa/tasks/b.output"
    assert NAMES.shorten_path(stored) == stored
    assert NAMES.resolve(stored) == "/tmp/claude-1000/-home-ada-shop/tasks/b.output"


_PIECES = st.sampled_from(
    [" ", "\n", '"', "/", "home", "ada", "/home/ada", "/home/ada/shop", "shop", "https://", "file://", "…", "-I", ":",
     "~", ".", "-", "x", "C:\\Users\\ada", "\\", "ä", "-home-ada", "ada@ada-laptop-7", "wt-aaaaaa"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_shortening_a_text_again_changes_nothing(text: str) -> None:
    once = NAMES.shorten_text(text, from_transcript=True)
    assert NAMES.shorten_text(once, from_transcript=True) == once


@given(st.text(st.characters(exclude_characters="/\\…")))
def test_a_text_without_paths_is_unchanged(text: str) -> None:
    assert NAMES.shorten_text(text) == text


@pytest.mark.parametrize(
    "unit", ["/home/ada/shop/", "/home/ada", "a" * 30, "https://", "-home-ada", "…", "C:\\Users\\", "\\", "file:", "."]
)
def test_shortening_takes_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        text = "/home/ada/ " + unit * (size // len(unit))
        began = time.process_time()
        NAMES.shorten_text(text, from_transcript=True)
        return time.process_time() - began

    seconds(1000)
    assert seconds(200_000) < 12 * max(seconds(50_000), 0.005)
