"""The pages of the project: their links work, their commands exist, and the first two stay short."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
import setting_tables
from looped_cases import for_each

from baton_git.core.policy import Policy
from baton_git.interfaces.cli import baton
from baton_git.interfaces.cli.machine.help import EXIT_CODES
from baton_git.interfaces.context.setting_registry import POLICY_KEYS

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("docs", "formats", "hooks", "benchmarks", "tests")
GOLDEN = {"valid", "invalid", "accepted"}
"""Folders of golden files, whose Markdown is no page."""

PAGES = [
    page
    for page in sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
    if not GOLDEN & set(page.relative_to(ROOT).parts)
]

LIMITS = {
    "README.md": 7000,
    "ARCHITECTURE.md": 8000,
    "docs/pictures/board.png": 150_000,
    "docs/pictures/brief.png": 150_000,
}
"""The most bytes that a page or a picture may have."""

LAYERS = ("core", "git", "checks", "namespace", "agents", "recall", "systems", "verbs", "interfaces")
"""The folders of the package."""

NO_SETTINGS = {"toml", "http", "caller"}
"""What follows `baton.` in names that are no settings: of a file, of attributes and of loggers."""

INTERNAL_VARIABLES = {"BATON_HOOK", "BATON_HOOK_PARENT", "BATON_SPAWNED"}
"""Environment variables by which baton's own processes talk to each other."""

WIDEST = 100
"""The characters that fit into a line of a code block on the documentation site (`docs/site/extra.css`)."""

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")


def find_links(text: str) -> list[str]:
    """Return the relative targets of links and pictures, without those in code."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    return [target for target in LINK.findall(prose) if not re.match(r"[a-z]+:", target)]


@cache
def find_anchors(page: Path) -> set[str]:
    """Return the fragments of the headings, as GitHub generates them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_broken(page: Path, target: str) -> bool:
    """Whether a link on a page leads to a file or a heading that does not exist."""
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    return not file.exists() or bool(anchor and anchor not in find_anchors(file))


def find_wide_lines(text: str) -> list[str]:
    """Return the lines of code blocks that are too wide for the site, without those of recorded output (`console`)."""
    blocks = [block for language, block in FENCE.findall(text) if language != "console"]
    return [line for block in blocks for line in block.splitlines() if len(line) > WIDEST]


def find_commands(text: str) -> Iterator[list[str]]:
    """Return the arguments of every `baton` command in the shell examples of a page."""
    for language, block in FENCE.findall(text):
        lines = block.replace("\\\n", " ").splitlines() if language in ("sh", "console") else []
        for line in [line.removeprefix("$ ") for line in lines if language == "sh" or line.startswith("$ ")]:
            words = shlex.shlex(line, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            yield from find_calls(list(words))


def find_calls(words: list[str]) -> Iterator[list[str]]:
    """Return the arguments of each call of `baton` in one line, up to a shell operator."""
    for start, word in enumerate(words):
        if word == "baton" and (start == 0 or re.match(r"[|&;(]|\w+=", words[start - 1])):
            rest = words[start + 1 :]
            end = next((place for place, after in enumerate(rest) if re.fullmatch(r"[|&;<>()]+", after)), len(rest))
            yield rest[:end]


def find_modules(text: str) -> list[str]:
    """Return the modules and folders of the package that a page names in code, for example `core/kinds`."""
    return re.findall(rf"`((?:{'|'.join(LAYERS)})/[\w/]*)`", text)


def parse_command(arguments: list[str]) -> None:
    """Parse a command line without running it.

    Raises:
        click.UsageError: a command, option or value does not exist.
    """
    command: click.Command = baton
    context = click.Context(
        command, info_name="baton", **baton.context_settings
    )  # click keeps the help option that it makes
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        found = command.get_command(context, name)
        if found is None:
            raise click.UsageError(f"no such command: {name}")
        command, context = found, click.Context(found, context, info_name=name)
    if not isinstance(command, click.Group):
        command.make_context(context.info_name, list(arguments), context.parent)


# --- the pages


def test_links_lead_to_files_and_headings() -> None:
    links = [(page, target) for page in PAGES for target in find_links(page.read_text(encoding="utf-8"))]
    assert len(links) > 100
    assert [(str(page.relative_to(ROOT)), target) for page, target in links if is_broken(page, target)] == []


def test_commands_in_examples_exist() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    calls = [arguments for page in pages for arguments in find_commands(page.read_text(encoding="utf-8"))]
    assert len(calls) > 100
    for arguments in calls:
        parse_command(arguments)


def test_lines_of_code_blocks_fit_into_the_site() -> None:
    pages = [page for page in PAGES if page.relative_to(ROOT).parts[0] in ("docs", "formats")]
    wide = [(str(page.relative_to(ROOT)), find_wide_lines(page.read_text(encoding="utf-8"))) for page in pages]
    assert len(pages) > 100
    assert [(page, lines) for page, lines in wide if lines] == []


def test_modules_that_are_named_exist() -> None:
    pages = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs/decisions").glob("*.md"))]
    named = {name for page in pages for name in find_modules(page.read_text(encoding="utf-8"))}
    assert len(named) > 20
    package = ROOT / "baton_git"
    assert {name for name in named if not (package / name).is_dir() and not (package / f"{name}.py").is_file()} == set()


def test_the_readme_has_the_two_commands_that_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^python3 -m venv .*baton demo$", readme, re.MULTILINE)
    assert re.search(r"^python3 -m venv .* \.venv/bin/pytest$", readme, re.MULTILINE)


def test_the_readme_begins_each_example_in_a_repository_with_init() -> None:
    blocks = FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    ours = [text for language, text in blocks if language == "sh" and text.startswith("baton ")]
    assert [text.splitlines()[0].split()[:2] for text in ours] == [["baton", "init"]] * 2


def test_the_page_about_settings_names_every_setting_and_variable() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "baton_git").rglob("*.py"))
    settings = {name.lower() for name in re.findall(r'"baton\.(\w+)"', source)} - NO_SETTINGS
    settings |= {name.replace("_", "") for name in Policy._fields}
    variables = set(re.findall(r'"(BATON_[A-Z_]+)"', source)) - INTERNAL_VARIABLES
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    assert len(settings) > 15
    assert settings - {name.lower() for name in re.findall(r"`baton\.(\w+)`", page)} == set()
    assert variables - set(re.findall(r"`(BATON_\w+)`", page)) == set()


def test_the_page_about_settings_has_the_tables_of_the_registries() -> None:
    page = setting_tables.PAGE.read_text(encoding="utf-8")
    assert page == setting_tables.make_page(page), "generate it again: python tests/project/setting_tables.py"
    assert set(POLICY_KEYS) == set(Policy._fields)


def test_the_topic_of_help_about_exit_codes_agrees_with_the_page() -> None:
    codes = (ROOT / "docs/exit-codes.md").read_text(encoding="utf-8")
    in_help = re.findall(r"^  (\d+) ", EXIT_CODES, re.MULTILINE)
    assert in_help == re.findall(r"^\| (\d+) \|", codes, re.MULTILINE)


@for_each("name", LIMITS)
def test_the_first_pages_and_their_pictures_are_small(name: str) -> None:
    assert len((ROOT / name).read_bytes()) <= LIMITS[name]


def test_all_pictures_together_are_small_and_load_nothing() -> None:
    pictures = [file for file in (ROOT / "docs/pictures").iterdir() if file.suffix in (".png", ".svg")]
    assert sum(file.stat().st_size for file in pictures) < 1_500_000
    drawn = "".join(file.read_text(encoding="utf-8") for file in pictures if file.suffix == ".svg")
    assert not re.search(r"url\(\W?https?:|<image|href=", drawn)


def test_every_page_of_the_documentation_is_linked_from_another() -> None:
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in PAGES
        for target in find_links(page.read_text(encoding="utf-8"))
    }
    assert {page for page in (ROOT / "docs").rglob("*.md") if page not in linked} == set()


# --- the checks


def test_links_in_code_and_to_other_sites_are_ignored() -> None:
    text = "[a](b.md) `[c](d.md)` ![e](f.png) [g](https://h.example) \n```sh\n[i](j.md)\n```\n[k](#l)"
    assert find_links(text) == ["b.md", "f.png", "#l"]


@pytest.mark.parametrize(
    ("target", "broken"), [("a.md", False), ("a.md#the-b-of-c", False), ("a.md#b", True), ("b.md", True)]
)
def test_a_link_to_nothing_is_broken(tmp_path: Path, target: str, broken: bool) -> None:
    (tmp_path / "a.md").write_text("# The `b`, of C!\n")
    assert is_broken(tmp_path / "page.md", target) is broken


def test_a_wide_line_is_found_unless_it_is_prose_or_recorded_output() -> None:
    fits, wide = "a" * WIDEST, "b" * (WIDEST + 1)
    text = f"{wide}\n```\n{fits}\n{wide}\n```\n```console\n{wide}\n```\n```sh\n{wide}\n```\n"
    assert find_wide_lines(text) == [wide, wide]


def test_commands_are_found_in_a_line() -> None:
    lines = ["A=1 baton serve  # baton", "baton read | baton write -f - > x && baton gc", "claude add baton -- x"]
    text = "```sh\n" + "\n".join(lines) + "\n```\n```\nbaton y\n```"
    assert list(find_commands(text)) == [["serve"], ["read"], ["write", "-f", "-"], ["gc"]]


@for_each("line", ["nothing", "loop nothing", "boot --nothing", "loop add", "boot --budget x"])
def test_a_command_option_or_value_that_does_not_exist_is_an_error(line: str) -> None:
    with pytest.raises(click.UsageError):
        parse_command(line.split())
