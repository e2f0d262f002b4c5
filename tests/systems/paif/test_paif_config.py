"""`paif_config` in `.claude/CLAUDE.md`: where it may be, and its faults."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looped_cases import for_each

from baton_git.core.errors import BatonError, InvalidDocument
from baton_git.systems.paif.settings import PaifConfig, parse_config

BLOCK = """\
paif_config:
  agent_id: "zero"
  session_protocol:
    checkpoint_on_exit: true

    # as PAIF's page has it
    restore_on_start: true
    checkpoint_interval_minutes: 45
"""
INLINE = """\
paif_config: {agent_id: zero, session_protocol: {checkpoint_on_exit: true, restore_on_start: true,
  checkpoint_interval_minutes: 45}}
"""
INDENTED = "".join(f"    {line}" if line.strip() else line for line in BLOCK.splitlines(keepends=True))


@for_each(
    "text",
    [BLOCK, f"# Rules\n\n```yaml\n{BLOCK}```\nother: [\n", f"---\ntitle: x\n{BLOCK}more: y\n---\n# Text\n",
     f"- a list\n\n{INDENTED}\nText: [\n", BLOCK.replace("\n", "\r\n"), f"text\n{BLOCK}\ntext\n",
     INLINE],
)  # fmt: skip
def test_the_settings_block_is_found_in_all_forms(text):
    found = parse_config(text)
    assert found is not None
    assert (found.agent_id, found.checkpoint_on_exit, found.restore_on_start, found.interval_minutes) == (
        "zero", True, True, 45,
    )  # fmt: skip


@for_each(
    "text",
    ["paif_config: is what the agent reads\n", "paif_config: what it reads, namely: this\n", "paif_config: {see\n",
     "```yaml\npaif_config:\n  name: an example\n```\n", "paif_config: set `agent_id: one` in it\n"],
)  # fmt: skip
def test_text_that_mentions_settings_is_not_a_settings_block(text):
    for both in (f"{text}\n{BLOCK}", f"{BLOCK}\n{text}"):
        found = parse_config(both)
        assert found is not None
        assert (found.agent_id, found.interval_minutes) == ("zero", 45)


@for_each("text", ["", "# Rules\n", "see paif_config: in the docs\n", "xpaif_config: 1\n", "paif_config: see below\n"])
def test_a_file_without_a_block_has_no_settings(text):
    assert parse_config(text) is None


def test_missing_settings_are_off_and_30_minutes():
    found = parse_config("paif_config:\n  agent_id: zero\n  unknown: 1\n")
    assert found is not None
    assert (found.checkpoint_on_exit, found.restore_on_start, found.interval_minutes) == (False, False, 30)
    assert PaifConfig().agent_id is None


@for_each(
    ("text", "why"),
    [
        ("paif_config:\n", "paif_config: must be a table"),
        ("paif_config: agent_id: zero\n", "not YAML"),
        (f"paif_config:\n  agent_id: [\n\n{BLOCK}", "paif_config: occurs twice, in lines 1 and 4"),
        ("paif_config: [a]\n", "paif_config: must be a table"),
        (
            "a\n\npaif_config:\n  agent_id: [\n",
            "not YAML: expected the node content, but found '<stream end>' at line 5",
        ),
        ("paif_config:\n  agent_id: ../x\n", "paif_config.agent_id: agent '../x'"),
        ("paif_config:\n  agent_id: 7\n", "paif_config.agent_id: input should be a valid string, not 7"),
        ("paif_config:\n  session_protocol:\n    restore_on_start: maybe\n", "session_protocol.restore_on_start"),
        ("paif_config:\n  session_protocol:\n    checkpoint_interval_minutes: -1\n", "checkpoint_interval_minutes"),
        (
            f"paif_config:\n  session_protocol:\n    checkpoint_interval_minutes: {10**18}\n",
            "less than or equal to 525600",
        ),
        ("paif_config:\n  session_protocol: on\n", "paif_config.session_protocol"),
        (f"{BLOCK}\n{BLOCK}", "paif_config: occurs twice, in lines 1 and 10"),
        ("paif_config:\n  a: &x 1\n  b: *x\n", "an alias is not allowed here at line 3"),
    ],
)
def test_a_broken_block_is_reported_in_one_line_with_the_file(text, why):
    with pytest.raises(InvalidDocument) as caught:
        parse_config(text, where=".claude/CLAUDE.md")
    assert str(caught.value).startswith(".claude/CLAUDE.md: ")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.text("ab:-[]{}&*!|>#'\"\n \t%@`1~?", max_size=40), st.text(" \n#`-", max_size=6))
def test_any_block_is_read_or_refused(text, before):
    try:
        parse_config(f"{before}\npaif_config:{text}")
    except BatonError:
        return
