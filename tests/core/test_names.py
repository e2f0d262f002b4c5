"""Names: any text is encoded as one path component and decoded again, and no two names share a component."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from dulwich.refs import Ref, check_ref_format
from hypothesis import assume, given
from hypothesis import strategies as st
from looped_cases import for_each
from strategies import NASTY_IDS, laws, names

from baton_git.core.errors import InvalidName
from baton_git.core.names import (
    MAX_COMPONENT,
    AgentId,
    Namespace,
    RecordId,
    SessionId,
    decode,
    encode,
    mint_id,
    parse_oid,
)

ENCODERS: dict[str, Callable[[str], str]] = {
    "namespace": encode,
    "id": lambda text: RecordId(text).component,
}
TWISTS: tuple[Callable[[str], str], ...] = (
    str.lower,
    str.upper,
    str.swapcase,
    str.casefold,
    lambda text: unicodedata.normalize("NFC", text),
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: unicodedata.normalize("NFKC", text),
    lambda text: text.replace("/", "_"),
    lambda text: text.replace(":", "/"),
    lambda text: text.strip(),
    lambda text: text.rstrip("."),
    lambda text: text + ".lock",
    lambda text: text + ".toml",
    encode,
    lambda text: RecordId(text).component,
    lambda text: re.sub("%..", lambda match: match[0].upper(), encode(text)),
)
"""Transformations of a name into a similar one."""

near = st.tuples(names, st.sampled_from(TWISTS)).map(lambda pair: (pair[0], pair[1](pair[0])))


def on_any_disk(component: str) -> set[str]:
    """Return a file name as a file system may store it: without case, normalised, without trailing dots and spaces."""
    forms = (unicodedata.normalize(form, component) for form in ("NFC", "NFD", "NFKC"))
    return {made for form in forms for made in (form.lower(), form.casefold(), form.lower().rstrip(". "))}


@laws
@given(names)
def test_a_namespace_comes_back_from_its_component(text: str) -> None:
    assert decode(encode(text)) == text
    assert Namespace.from_component(Namespace(text).component) == Namespace(text)


@laws
@given(st.text(st.sampled_from("名é😀aA/."), min_size=20, max_size=61), st.text(st.sampled_from("名é"), min_size=20))
def test_a_long_name_of_any_script_is_a_namespace(text: str, other: str) -> None:
    assume(len(text.encode("utf-16-be")) <= 122)
    component = Namespace(text).component
    assert len(component) <= MAX_COMPONENT
    assert check_ref_format(Ref(f"refs/heads/baton/{component}".encode()))
    assert Namespace.from_component(component).text == text
    if len(other) <= 61 and other != text:
        assert Namespace(other).component != component


@laws
@given(names)
def test_an_id_comes_back_from_its_component(text: str) -> None:
    assert RecordId.from_component(RecordId(text).component) == RecordId(text)


@pytest.mark.parametrize("encoder", ENCODERS)
@laws
@given(pair=near | st.tuples(names, names))
def test_two_names_never_share_a_file_name(encoder: str, pair: tuple[str, str]) -> None:
    one, other = pair
    assume(one != other)
    assume(other)
    assert not on_any_disk(ENCODERS[encoder](one)) & on_any_disk(ENCODERS[encoder](other))


def test_ids_that_collide_on_other_file_systems_get_different_file_names() -> None:
    for encoder in ENCODERS.values():
        places = [place for name in NASTY_IDS for place in on_any_disk(encoder(name))]
        assert len(places) == len(set(places)) == len(NASTY_IDS)


@laws
@given(names)
def test_a_component_is_made_of_harmless_characters_and_git_accepts_it(text: str) -> None:
    component = encode(text)
    assert re.fullmatch(r"(?:[a-z0-9._-]|%[0-9a-f]{2})+", component)
    assert component[0] not in "-."
    assert ".." not in component
    assert not component.endswith((".", ".lock"))
    assert check_ref_format(Ref(f"refs/heads/baton/{component}".encode()))


@laws
@given(names)
def test_the_file_name_of_an_id_is_harmless_too(text: str) -> None:
    component = RecordId(text).component
    assert re.fullmatch(r"(?:[A-Z]{1,8}(?=-))?(?:[a-z0-9._-]|%[0-9a-f]{2})*", component)
    assert component not in ("", ".", "..")
    assert not component.startswith(("-", "."))
    assert not re.match(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)", f"{component}.toml")


@laws
@given(st.text(st.sampled_from("abAB%-._0123456789cdefx/"), max_size=12))
def test_a_component_that_can_be_decoded_is_the_one_that_encode_returns(component: str) -> None:
    try:
        text = decode(component)
    except InvalidName:
        return
    assert encode(text) == component


@for_each(
    ("text", "component"),
    [
        ("project:x", "project%3ax"), ("a/b", "a%2fb"), ("a_b", "a_b"), ("A", "%41"), ("..", "%2e%2e"),
        ("x.lock", "x%2elock"), ("-x", "%2dx"), ("a..b", "a.%2eb"), ("con", "%63on"), ("con.txt", "%63on.txt"),
        ("名", "%e5%90%8d"), ("100%", "100%25"),
    ],
)  # fmt: skip
def test_namespaces_are_encoded_as_ref_components(text: str, component: str) -> None:
    assert Namespace(text).component == component


@for_each(
    ("text", "component"),
    [("OL-001", "OL-001"), ("ol-001", "%6fl-001"), ("OL-A", "OL-%41"), ("OL", "%4f%4c"), ("ABCDEFGHI-1", None)],
)
def test_the_capitals_of_a_minted_prefix_stay_in_the_file_name(text: str, component: str | None) -> None:
    assert RecordId(text).component == component or (component is None and RecordId(text).component.startswith("%41"))


@for_each("text", ["", "\ud800", "a\udfff", "x" * (MAX_COMPONENT + 1), "名" * 62])
def test_a_name_that_cannot_be_a_file_name_cannot_be_built(text: str) -> None:
    for make in (Namespace, RecordId, SessionId):
        with pytest.raises(InvalidName):
            make(text)


def test_the_longest_name_is_accepted() -> None:
    assert len(Namespace("x" * MAX_COMPONENT).component) == MAX_COMPONENT
    assert len(Namespace("名" * 22).component) == 198


def test_an_invalid_name_has_a_reason_and_escaped_control_characters() -> None:
    with pytest.raises(InvalidName) as caught:
        Namespace("\ud800\x1b[31m")
    assert str(caught.value) == "namespace '\\ud800\\x1b[31m' holds half of a surrogate pair, which is not text"
    assert caught.value.data["why"].startswith("holds half")


@for_each("component", ["A", "%61", "%2E", "%", "%4", "%zz", "a/b", "..", "x.lock", "con", "%c3", "é", ""])
def test_components_that_encode_never_produces_are_rejected(component: str) -> None:
    with pytest.raises(InvalidName):
        decode(component)


@for_each("component", ["ol-1", "%4f%4c-1", "OL", "OL-A", "OL-1.lock", "%c3", ""])
def test_components_that_are_not_written_for_any_id_are_rejected(component: str) -> None:
    with pytest.raises(InvalidName):
        RecordId.from_component(component)


@for_each("text", ["2026-06-17-003", "a b", "会话", "x" * 128, "..", "/"])
def test_a_session_is_one_printable_line(text: str) -> None:
    assert str(SessionId(text)) == text


@for_each("text", [" ", "\t", "a\nb", "a\x00", "\x1b[31m", "\u2028", "x" * 129])
def test_an_invalid_session_name_is_rejected(text: str) -> None:
    with pytest.raises(InvalidName):
        SessionId(text)


@for_each("text", ["claude-code", "codex@laptop", "a.b:c+d_e", "9", "x" * 128])
def test_an_agent_name_is_one_word(text: str) -> None:
    assert str(AgentId(text)) == text


@for_each("text", ["", "-a", ".a", "a b", "a/b", "é", "a\n", "x" * 129])
def test_an_invalid_agent_name_is_rejected(text: str) -> None:
    with pytest.raises(InvalidName):
        AgentId(text)


@for_each(("text", "good"), [("0" * 40, True), ("a" * 64, True), ("A" * 40, False), ("0" * 41, False)])
def test_an_object_id_is_40_or_64_lower_case_hex_digits(text: str, good: bool) -> None:
    if good:
        assert parse_oid(text) == text
    else:
        with pytest.raises(InvalidName):
            parse_oid(text)


def test_an_object_id_with_a_final_line_break_is_rejected() -> None:
    with pytest.raises(InvalidName):
        parse_oid("0" * 40 + "\n")


@laws
@given(st.binary(min_size=4, max_size=8))
def test_a_minted_id_is_short_and_its_own_file_name(random: bytes) -> None:
    made = mint_id("OL", random)
    assert re.fullmatch(r"OL-[0-9a-hjkmnp-tv-z]{6}", made)
    assert RecordId(made).component == made
