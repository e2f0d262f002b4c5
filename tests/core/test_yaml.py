"""YAML files that people write: only plain data is accepted."""

from __future__ import annotations

import pytest
import yaml as pyyaml
from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from strategies import laws

from baton_git.core.codecs import yaml
from baton_git.core.errors import BatonError, InvalidDocument, LimitExceeded
from baton_git.core.records.base import alike


@for_each(
    ("text", "data"),
    [
        ("a: 1\nb: [x, 2.5, null, true]\nc:\n  d: |\n    two\n    lines\n",
         {"a": 1, "b": ["x", 2.5, None, True], "c": {"d": "two\nlines\n"}}),
        ("at: 2026-04-04\nthen: 2026-04-04T18:34:00Z\n", {"at": "2026-04-04", "then": "2026-04-04T18:34:00Z"}),
        ("", None),
        ("- a\n- b\n", ["a", "b"]),
        ("a: {b: c}\n<<: {d: e}\n", {"a": {"b": "c"}, "d": "e"}),
    ],
)  # fmt: skip
def test_yaml_is_parsed(text, data):
    assert yaml.loads(text) == data


@for_each(
    ("text", "why"),
    [
        ("a: [", "not YAML: "),
        ("a: &x [1]\nb: *x\n", "an alias is not allowed here at line 2, column 4"),
        ("a: 1\na: 2\n", "the key 'a' occurs twice at line 2, column 1"),
        ("1: a\n", "the key 1 is not text: put it in quotes"),
        ("on: a\n", "the key True is not text"),
        ("a: !!python/object/apply:os.system [x]\n", "could not determine a constructor"),
        ("a: !!binary aGk=\n", "binary is not a JSON type"),
        ("a: !!set {x}\n", "set is not a JSON type"),
        ("a: .nan\n", "a: is not a number that JSON can hold"),
        ("a: \x00", "not YAML: "),
        ("? [a]\n: b\n", "not YAML: "),
        ("a: b\n---\nc: d\n", "not YAML: "),
    ],
)
def test_invalid_files_are_reported_in_one_line_with_the_file(text, why):
    with pytest.raises(InvalidDocument) as caught:
        yaml.loads(text, where="F")
    assert str(caught.value).startswith("F: ")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 500, "a: " + "[" * 70 + "]" * 70, "x" * (yaml.MAX_BYTES + 1)])
def test_excessive_yaml_is_rejected(text):
    with pytest.raises(LimitExceeded):
        yaml.loads(text)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab: -#'\"\n2026", max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab1:", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@laws
@given(plain)
def test_text_written_by_the_library_is_read_back_equal(data):
    class NoAliases(pyyaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    assert alike(yaml.loads(pyyaml.dump(data, Dumper=NoAliases)), data)


@laws
@given(st.text("ab:-[]{}&*!|>#'\"\n \t%@`1~?", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        yaml.loads(text)
    except BatonError:
        return
