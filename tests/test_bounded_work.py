"""Reading text from others takes linear time: with a careless parser, each of these cases takes minutes.

`benchmarks/bounded.py` measures the ratios.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, get_args

import annotated_types
import pytest

from baton_git.agents.claude.messages import extract_prompt
from baton_git.agents.codex.messages import list_patched_files
from baton_git.agents.codex.transcript import apply_environment_message
from baton_git.agents.extraction.shell import find_git_work
from baton_git.agents.gemini.messages import extract_typed_text as typed_in_gemini
from baton_git.git.remotes.error_messages import mask_logins
from baton_git.systems.ecc.adapters.markdown import parse_sections
from baton_git.verbs.sessions.session_start import drop_repeated
from baton_git.verbs.table import all_verbs

NUMBERS = {int, float}
NOWHERE: Any = SimpleNamespace(cwd=None)
CASES = {
    "the heading of a file": (lambda text: parse_sections(f"# a{text}x"), " #", 400_000),
    "the files of a patch": (lambda text: list_patched_files(f"*** Add File: a{text}x"), " ", 400_000),
    "blanks in a prompt of Gemini": (lambda text: typed_in_gemini({"content": f"a{text}b"}), " ", 400_000),
    "unclosed tags of Gemini": (lambda text: typed_in_gemini({"content": text}), "<hook_context>", 2_000_000),
    "unclosed envelopes": (lambda text: extract_prompt({}, text), "<tick>", 400_000),
    "a long first tag": (lambda text: extract_prompt({}, f"<a{text}"), " b", 400_000),
    "a cut envelope": (lambda text: extract_prompt({}, f"<a>{text}"), "</b>", 400_000),
    "reminders before a prompt": (
        lambda text: extract_prompt({}, text), "<system-reminder></system-reminder>", 4_000_000
    ),
    "folders of an environment": (
        lambda text: apply_environment_message(NOWHERE, f"<environment_context>{text}"), "<cwd>", 400_000
    ),
    "heredocs": (lambda text: find_git_work(f"git commit\n{text}", "/"), "<<A\n", 65_000),
    "a scheme without end": (mask_logins, "a", 100_000),
    "addresses without a query": (mask_logins, "a://", 400_000),
    "unreadable files at a start": (
        lambda text: drop_repeated(f"{number}.toml: {why}" for number, why in enumerate(text.split("\n"))),
        "why\n", 400_000,
    ),
}  # fmt: skip


@pytest.mark.timeout(30)
@pytest.mark.parametrize("case", CASES)
def test_a_long_text_is_read_within_the_time_limit(case: str) -> None:
    read, unit, size = CASES[case]
    read(unit * (size // len(unit)))


def test_a_problem_of_a_start_that_is_the_reason_of_another_is_told_once() -> None:
    problems = ["a: no: space", "no: space", "space", "a: no: space", "b: full", "pace"]
    assert drop_repeated(problems) == ["a: no: space", "b: full", "pace"]


def test_every_number_field_of_a_verb_has_an_upper_bound() -> None:
    unbounded = [
        f"{verb.name}: {name}"
        for verb in all_verbs().values()
        for name, field in verb.input_model.model_fields.items()
        if NUMBERS & {field.annotation, *get_args(field.annotation)}
        and not any(isinstance(item, annotated_types.Le) for item in field.metadata)
    ]
    assert unbounded == []
