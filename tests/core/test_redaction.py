"""Secrets are redacted, and ordinary text is not."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looped_cases import for_each
from planted import HEX, PROSE, SECRETS, some
from secret_corpus import secrets

from baton_git.core.redaction import Redaction, find_secret_kind, redact, redact_text
from baton_git.core.redaction.finding import CommandLines, compile_rule, find_rows, list_rows

ROWS = [pair for table in list_rows() for pair in table]


def dumped(value):
    return json.dumps(value, ensure_ascii=False)


@for_each("kind", SECRETS)
def test_a_secret_in_prose_is_redacted_and_the_prose_kept(kind):
    @settings(max_examples=4, deadline=None)
    @given(SECRETS[kind], PROSE, PROSE)
    def check(pair, before, after):
        secret, text = pair
        clean, kinds = redact_text(f"{before} {text}\n{after}")
        assert secret not in clean
        assert kinds
        assert clean.startswith(before)
        if "without end" not in kind:
            assert clean.endswith(after)
        assert redact_text(clean) == (clean, ())

    check()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(SECRETS)).flatmap(SECRETS.get), PROSE)
def test_a_secret_is_redacted_anywhere_in_a_document(pair, prose):
    secret, text = pair
    document = {"a": [{"b": (prose, text)}, text], text: {"c": f"{prose} {text}"}, "n": [1, None, True, 2.5]}
    clean, found = redact(document)
    assert secret not in dumped(clean)
    assert len(found) >= 4
    assert not any(secret in redacted.path for redacted in found)
    assert clean["n"] is document["n"]
    assert redact(clean)[0] is clean


def test_all_secrets_in_a_line_are_redacted():
    keys = [f"AKIA{n:016d}" for n in range(5)]
    text = f"{keys[0]} {keys[1]},{keys[2]}\n{keys[3]}\\n{keys[4]}"
    clean, kinds = redact_text(text)
    assert kinds == ("aws access key",) * 5
    assert clean.count("[redacted: aws access key]") == 5
    assert "AKIA" not in clean


@given(st.lists(st.sampled_from(list(SECRETS)).flatmap(SECRETS.get), min_size=2, max_size=4))
@settings(max_examples=30, deadline=None)
def test_adjacent_secrets_of_different_kinds_are_all_redacted(pairs):
    clean, _ = redact_text("\n".join(text for _, text in pairs))
    assert not [secret for secret, _ in pairs if secret in clean]
    assert redact_text(clean) == (clean, ())


ORDINARY = """
the password: must be rotated before Friday
The password: see the vault, then tell Ann.
token expired: see notes
token: pending
secret=none
password=required
password: changed
rotate the api_key: ask the platform team
"password": null
the secret: nobody reads the notes
max_tokens: 200000
token_count=123456
tokenizer: cl100k_base
secretName: my-tls-2
password_policy: strict-v2
secretary: Jane Doe 2
passwordless: yes-2024
PWD=/home/me/project1
password = os.environ["DB_PASSWORD"]
password: str
password: Optional[str] = None
api_key = settings.API_KEY
token = get_token(user, 12)
client_secret=client_secret
password: ${{ secrets.DB_PASSWORD }}
password=$DB_PASSWORD
secret: "<your-secret>"
password: "********"
api_key: {api_key}
run it with --token $TOKEN or --password prompt
print("password: %s" % value)
input("Password: ")
see commit 3f2a9c1b7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a on main
sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
session 3f2a9c1b7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a went well
session: 550e8400-e29b-41d4-a716-446655440000
550e8400-e29b-41d4-a716-446655440000
2026-06-17T10:00:00+02:00
2026-06-17-003
https://example.com:8443/path?next=/a@b&x=1
http://localhost:4873/@scope/package
git@github.com:owner/repo.git
ssh://git@example.com:22/x.git
/home/user/work/baton_git/core/redaction.py:120:8
192.168.1.10 and 8.8.8.8 and ::1
for key, value in pairs.items(): print(key, value)
def handler(token: str, secret: bytes = b"") -> None: ...
task-force-alpha-spinner-container-wrapper
bearer of bad news, with authentication-required-everywhere
docker run -u 1000:1000 -p 8080:80 image:tag
API latency, APIs, APPLICATION, ACKNOWLEDGED, SKIPPED
it's the key's problem, don't pass the password on
OL-7k3f9q verified; FU-003 deferred, now elevated
"""


@for_each("text", ORDINARY.strip().splitlines())
def test_ordinary_text_is_not_redacted(text):
    assert redact_text(text) == (text, ())
    document = {"context": text, "items": [text]}
    assert redact(document)[0] is document


def test_all_ordinary_texts_together_are_not_redacted():
    assert redact_text(ORDINARY) == (ORDINARY, ())


@for_each(
    ("text", "clean"),
    [
        ("password=hunter2, then go", "password=[redacted: keyword secret], then go"),
        ("https://me:p$ss@host/x", "https://me:[redacted: url password]@host/x"),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer [redacted: authorization header]"),
        ("connect(password=abc123)", "connect(password=[redacted: keyword secret])"),
        ('{"token": "abcdef1234567890"}', '{"token": "[redacted: keyword secret]"}'),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY----- and on", "[redacted: private key] and on"),
        (" AKCabcdefghijkl ", " [redacted: artifactory credentials] "),
    ],
)
def test_only_the_secret_is_replaced(text, clean):
    assert redact_text(text)[0] == clean


def test_a_redaction_mark_is_never_redacted_again():
    kinds = {row[0].rstrip("!") for _, row in ROWS} | {"keyword secret", "private key"}
    for kind in kinds:
        mark = f"[redacted: {kind}]"
        for template in (
            "*",
            'password="*"',
            "password: *: 'abcd1234'",
            '{"*": "hello"}',
            "https://u:*@h",
            "token=*",
            "Bearer *",
        ):
            text = template.replace("*", mark)
            clean, _ = redact_text(text)
            assert mark in clean
            assert "abcd1234" not in text or redact_text(clean) == (clean, ())


def test_redactions_have_their_path_and_kind():
    key = "ghp_" + "a1" * 18
    document = {"a": [{"b c": f"x {key}"}], key: 1, "recent": [0, 0, {"context": f"{key} {key}"}]}
    clean, found = redact(document)
    mark = "[redacted: github token]"
    assert clean == {"a": [{"b c": f"x {mark}"}], mark: 1, "recent": [0, 0, {"context": f"{mark} {mark}"}]}
    assert [redacted.path for redacted in found] == [
        'a[0]["b c"]',
        f'["{mark}"]',
        "recent[2].context",
        "recent[2].context",
    ]
    assert set(found[:1]) == {Redaction('a[0]["b c"]', "github token")}


def test_keys_that_become_the_same_keep_both_values():
    first, second = "ghp_" + "a1" * 18, "ghp_" + "b2" * 18
    mark = "[redacted: github token]"
    document = {mark: 0, first: 1, second: 2}
    clean, _ = redact(document)
    assert clean == {mark: 0, f"{mark} 2": 1, f"{mark} 3": 2}
    assert redact(clean) == (clean, ())


def test_a_value_under_the_name_of_a_secret_counts_as_assigned():
    document = {"env": {"DB_PASSWORD": "swordfish", "api-key": "a b", "max_tokens": "many", "token": "pending"}}
    document |= {
        "passwords": ["hunter2", "none"],
        "password": None,
        "clientSecret": "$SECRET",
        "secret": {"a": "plain"},
    }
    clean, found = redact(document)
    assert [redacted.path for redacted in found] == ["env.DB_PASSWORD", "passwords[0]"]
    assert clean["env"] | {"DB_PASSWORD": 0} == document["env"] | {"DB_PASSWORD": 0}
    assert redact({"note": "swordfish"})[1] == ()


def test_stored_values_are_not_searched_for_secrets():
    key = "ghp_" + "a1" * 18
    document = {"a": key, key: key, "password": "swordfish"}
    assert redact(document, known={key, "swordfish"})[0] is document
    assert redact(document, known=frozenset())[0] is not document


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
@settings(max_examples=30, deadline=None)
def test_redacting_twice_is_redacting_once(document):
    clean, _ = redact(document)
    again, found = redact(clean)
    assert again is clean
    assert found == ()


def test_only_names_with_secrets_are_reported():
    assert find_secret_kind("session-AKIA" + "A1" * 8) == "aws access key"
    assert find_secret_kind("OL-7k3f9q") is None


# --- the signs that a text must contain before a rule is tried


@pytest.mark.slow
@pytest.mark.parametrize("row", list(dict.fromkeys(row for _, row in ROWS)), ids=lambda row: row[0])
def test_every_text_that_a_rule_matches_contains_one_of_its_signs(row):
    @settings(max_examples=8, deadline=None)
    @given(st.from_regex(compile_rule(row).pattern, alphabet=st.characters(max_codepoint=126)))
    def check(text):
        if all(
            compile_rule(row).accepts(match, CommandLines(text)) for match in compile_rule(row).pattern.finditer(text)
        ):
            assert row in find_rows(text.casefold())

    check()


@pytest.mark.parametrize("text", ['paſſword = "abcd1234"', 'ſecret: "abcd1234"', 'api_KEY: "abcd1234"'])
def test_letters_with_unusual_case_folding_do_not_hide_secrets(text):
    assert redact_text(text)[1]


HARMLESS = (
    some(HEX, 40)
    | some(HEX, 64)
    | st.uuids().map(str)
    | st.datetimes().map(lambda moment: moment.isoformat() + "Z")
    | st.dates().map(str)
    | st.sampled_from(
        ["open", "verified", "failed", "escalated", "llm_derived", "human_confirmed", "rule_candidate", "active"]
    )
)


@settings(max_examples=60, deadline=None)
@given(HARMLESS)
def test_ids_dates_and_statuses_have_no_secrets(text):
    assert find_secret_kind(text) is None


def test_harmless_text_needs_few_regular_expressions():
    texts = ["2026-06-17T10:00:00Z", "a" * 40, "The work stood at step 3."]
    texts += [
        "550e8400-e29b-41d4-a716-446655440000",
        "OL-7k3f9q",
        "see https://example.com/a?b=c#d",
        "it's done; APIs work",
    ]
    code = (
        "import sys, json; from baton_git.core.redaction import redact;"
        "value = json.load(sys.stdin); assert redact(value)[0] is value;"
        "from baton_git.core.redaction.finding import compile_rule;"
        "assert compile_rule.cache_info().currsize < 10; redact(['ghp_' + 'a1' * 18])"
    )
    subprocess.run([sys.executable, "-c", code], input=json.dumps(texts), text=True, check=True)


LONG = [
    "keykeykey", "token=token", "password: a1b2c3 ", "'=key\\\\", "AKIA" + "A1" * 8, "eyJaaaaaaaaaaaa.", "mysql -pa1 ", "://a:b@",
    "-----BEGIN PRIVATE KEY-----\n", "A" * 40 + "\n-----END PRIVATE KEY-----", "<password>a", "Authorization: sk-",
]  # fmt: skip
"""Repeated units that earlier rules searched for minutes in 100,000 characters, or that a careless rule would."""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", LONG)
def test_a_long_text_takes_time_in_proportion(unit):
    redact_text(unit * (50_000 // len(unit)))


@pytest.mark.timeout(60)
def test_a_document_with_long_keys_and_many_secrets_takes_time_in_proportion():
    tokens = ["ghp_" + f"{number:036}" for number in range(500)]
    clean, found = redact({"k" * 200_000: tokens, "names": dict.fromkeys(tokens, 1)})
    assert len(found) == 1000
    assert len(clean["names"]) == 500


def test_a_token_longer_than_its_pattern_is_redacted_completely():
    planted = [row for row in secrets() if row.text == f"X-Thing: {row.secret}" and row.secret[-1].isalnum()]
    rest = "aB3dE6gH9" * 4
    assert len(planted) > 120
    assert not [row for row in planted if rest[-8:] in redact_text(row.text + rest)[0]]


def test_a_private_key_split_over_list_items_is_redacted():
    lines = [
        "before",
        "-----BEGIN RSA PRIVATE KEY-----",
        *["Ab3/" * 16] * 3,
        "Ab3/",
        "-----END RSA PRIVATE KEY-----",
        "after",
    ]
    clean, found = redact({"lines": lines})
    assert clean == {"lines": ["before", *["[redacted: private key]"] * 6, "after"]}
    assert [one.path for one in found] == [f"lines[{number}]" for number in range(1, 7)]
    assert redact(clean)[0] is clean


def test_only_key_lines_of_a_split_private_key_without_end_are_redacted():
    begin, line = "it said -----BEGIN OPENSSH PRIVATE KEY-----", "Ab3/" * 16
    clean, _ = redact([begin, line, line, "did the deployment", "Ab3/"])
    assert clean == ["it said [redacted: private key]", *["[redacted: private key]"] * 2, "did the deployment", "Ab3/"]
    clean, _ = redact([line, line, "Ab3/", "-----END PRIVATE KEY-----", "after"])
    assert clean == [*["[redacted: private key]"] * 4, "after"]
    assert redact([line, "did it", None, 3])[1] == ()


def test_a_secret_of_any_length_is_redacted_completely():
    for text in (
        "password=" + "a1" * 5000,
        "Bearer " + "a1" * 5000,
        "ghp_" + "a1" * 5000,
        "token: '" + "a1" * 5000 + "'",
    ):
        assert "a1" not in redact_text(text)[0]


INVISIBLE = st.sampled_from("\u00ad\u200b\u200c\u200d\u2060\ufeff\U000e0041")


@given(
    st.sampled_from(list(SECRETS)).flatmap(SECRETS.get), st.lists(st.tuples(st.integers(0, 400), INVISIBLE), max_size=6)
)
@settings(max_examples=60, deadline=None)
def test_an_invisible_character_does_not_hide_a_secret(pair, signs):
    secret, text = pair
    for at, sign in signs:
        text = text[: at % (len(text) + 1)] + sign + text[at % (len(text) + 1) :]
    clean, kinds = redact_text(text)
    visible = "".join(sign for sign in clean if sign.isprintable() or sign in "\n\t\r")
    assert kinds
    assert secret not in visible
    assert redact_text(clean) == (clean, ())


def test_invisible_characters_of_ordinary_text_stay():
    text = "a\u200bb \U0001f469\u200d\U0001f4bb zero\u00adwidth"
    assert redact_text(text) == (text, ())
    clean, _ = redact_text(f"{text} ghp_{'a1' * 9}\u200b{'b2' * 9} {text}")
    assert clean == f"{text} [redacted: github token] {text}"
