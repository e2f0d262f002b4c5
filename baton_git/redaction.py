r"""Secrets out of what is about to be stored: found, replaced by `[redacted: kind]`, and told where.

State is committed, pushed and kept for good, so a secret that slips in stays. What is looked for:

- every pattern plugin of detect-secrets (AWS, GitHub, Slack, JWT, private keys, …), and the whole token where a
  plugin points at its beginning only;
- `_OWN`: shapes that the plugins miss or cut short, each with its source;
- what is assigned to a name like `password`, `api_key` or `token`: the keyword plugin for values in quotes, `_NAMED`
  for values without, and for quotes escaped in JSON. The value is weighed, so that prose (`the password: must be
  rotated`), placeholders (`secret=none`), references (`$TOKEN`, `os.environ[…]`) and paths survive.

Not looked for: random-looking text and public addresses. Commit ids, uuids, hashes and addresses are what the records
of this package are made of, and a detector by entropy would take them out. So a secret without a known shape and
without a name before it, or one that is split over several strings, is not found.

Loading detect-secrets costs 150 ms and running all of it half a millisecond, so each detector has signs, plain strings
of which its matches hold at least one, and where these are common words, an expression that all its matches match (a
property test generates matches of every detector and holds the signs to that). Ids, time stamps, words and most
sentences show no sign: they pass within some microseconds, and nothing is loaded.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

_ROUNDS = 6
_KEYWORD = "keyword secret"


class Redaction(NamedTuple):
    """One secret that was taken out: where (`recent_occurrences[2].context`), and of which kind (`github token`)."""

    path: str
    kind: str


class _Span(NamedTuple):
    start: int
    end: int
    kind: str


def redact(value: Any, *, known: Container[str] = frozenset()) -> tuple[Any, tuple[Redaction, ...]]:
    """`value` with the secrets replaced in all its strings, mapping keys included, and what was replaced.

    A string under a key that names a secret (`{"db_password": "…"}`) counts as assigned to it. The result is
    `value` itself when nothing was found; redacting it again finds nothing.

    Args:
        value: nested dicts, lists, tuples and scalars; its depth is the caller's to limit.
        known: strings already stored, which nobody needs to search again.
    """
    found: list[Redaction] = []
    return _walk(value, "", "", known, found), tuple(found)


def redact_text(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` with its secrets replaced, and their kinds in the order found."""
    kinds: list[str] = []
    for _ in range(_ROUNDS):
        spans = _find(text)
        if not spans:
            return text, tuple(kinds)
        kinds += [span.kind for span in spans]
        text = _replaced(text, spans)
    # Never seen, and better lost than leaked: each round should leave less to find.
    return _mark(kinds[0]), tuple(kinds)


def holds_secret(text: str) -> str | None:
    """The kind of the first secret in `text`; for ids and names, which are refused because they cannot be changed."""
    return next((span.kind for span in _find(text)), None)


def _walk(value: Any, path: str, name: str, known: Container[str], found: list[Redaction]) -> Any:
    """The same object when nothing below it changed. `name` is the key that `value` stands under."""
    if isinstance(value, str):
        return value if value in known else _string(value, path, name, found)
    if isinstance(value, Mapping):
        return _mapping(value, path, known, found)
    if isinstance(value, list | tuple):
        items = [_walk(item, f"{path}[{n}]", name, known, found) for n, item in enumerate(value)]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else type(value)(items)
    return value


def _string(text: str, path: str, name: str, found: list[Redaction]) -> str:
    if name and _is_secret_under(name, text):
        found.append(Redaction(path, _KEYWORD))
        return _mark(_KEYWORD)
    clean, kinds = redact_text(text)
    found += [Redaction(path, kind) for kind in kinds]
    return clean


def _mapping(value: Mapping[Any, Any], path: str, known: Container[str], found: list[Redaction]) -> Any:
    result: dict[Any, Any] = {}
    changed = False
    for key, item in value.items():
        if key in known and isinstance(item, str) and item in known:  # as most fields of most records
            result[key] = item
            continue
        new_key = _key(key, path, known, found, value, result)
        name = key if isinstance(key, str) else ""
        result[new_key] = _walk(item, _joined(path, new_key), name, known, found)
        changed |= new_key is not key or result[new_key] is not item
    return result if changed else value


def _key(key: Any, path: str, known: Container[str], found: list[Redaction], *taken: Container[Any]) -> Any:
    """The key, clean; numbered when another one is called the same by now, since both values must stay."""
    if not isinstance(key, str) or key in known:
        return key
    clean, kinds = redact_text(key)
    if not kinds:
        return key
    unique, number = clean, 1
    while any(unique in names for names in taken):
        number += 1
        unique = f"{clean} {number}"
    found += [Redaction(_joined(path, unique), kind) for kind in kinds]
    return unique


_WORD = re.compile(r"[\w-]+")


def _joined(path: str, key: Any) -> str:
    """`a.b`, or `a["b c"]` when the key is not a word."""
    if not isinstance(key, str) or not _WORD.fullmatch(key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def _mark(kind: str) -> str:
    return f"[redacted: {kind}]"


def _replaced(text: str, spans: list[_Span]) -> str:
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span.start], _mark(span.kind)]
        at = span.end
    return "".join([*pieces, text[at:]])


# --- finding ---------------------------------------------------------------------------------------------------------

_PREFIX_GROUPS = frozenset({"GitHubTokenDetector", "GitLabTokenDetector"})
"""Plugins whose first group is the prefix of the token and not, as in all others, the secret."""

_PEM = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_GAP = r"(?:\\[nr]|\s)"  # between lines, also when a JSON text is held in a string

_OWN = (
    # RFC 7468: a whole block, or what of it was cut off at either end. The plugin takes the words BEGIN … only.
    ("private key", "-----begin ", rf"-----BEGIN {_PEM}(?s:.)*?(?:-----END {_PEM}|\Z)"),
    ("private key", "-----end ", rf"(?:[A-Za-z0-9+/=]{{16,}}{_GAP}+)+(?:[A-Za-z0-9+/=]+{_GAP}+)?-----END {_PEM}"),
    # PuTTY's format, version 2 and 3 (doc/ppk.but of its source); the plugin knows the name of version 2.
    ("private key", "putty-user-key-file", r"PuTTY-User-Key-File-[23](?s:.)*?(?:Private-MAC: *[0-9a-f]+|\Z)"),
    # RFC 7519, RFC 7516: the signature, which the plugin's lazy last part leaves standing, and the five parts of a JWE.
    ("json web token", "eyj", r"(?<!eyJ)eyJ[\w=-]{8,}\.(?:eyJ[\w=-]{8,}|[\w-]*)(?:\.[\w+/=-]+){1,3}"),
    # docs.github.com, "GitHub's token formats": fine-grained tokens; classic ones longer than 36.
    ("github token", "github_pat_|ghp_|gho_|ghu_|ghs_|ghr_", r"github_pat_\w{22,}|gh[pousr]_\w{36,}"),
    # docs.gitlab.com/security/tokens, "Token prefixes": some have dots, and may be longer than the plugin's 50.
    ("gitlab token", "gl", r"gl(?:pat|oas|dt|rtr?|cbt|ptt|ft|imt|agent|wt|soat|ffct)-[\w-]{20,}(?:\.[\w-]+)*"),
    # gitleaks, rules anthropic-api-key and openai-api-key; OpenRouter, DeepSeek and others begin with "sk-" too.
    ("api key", "sk-", r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))sk-(?=[A-Za-z_-]*[0-9])(?:[a-z0-9]+-)*[A-Za-z0-9_-]{20,}"),
    # gitleaks, rules gcp-api-key; developers.google.com/identity: client secrets and access tokens.
    ("google key", "aiza|gocspx-|ya29.", r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,}"),
    # api.slack.com/authentication/token-types: also rotated (xoxe), app-level (xapp), workflow tokens, cookies (xoxd).
    ("slack token", "xox|xapp-", r"(?i:xox[a-z](?:\.xox[bp])?|xapp)-[A-Za-z0-9%+/=-]{10,}"),
    ("slack token", "hooks.slack.com", r"https://hooks\.slack\.com/(?:workflows|triggers)/[A-Za-z0-9/_+-]{20,}"),
    # docs.npmjs.com: access tokens without the .npmrc line around them.
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    # docs.stripe.com/keys and /webhooks: test keys and signing secrets too.
    ("stripe key", "k_live_|k_test_|whsec_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{32,}"),
    # gitleaks, rules huggingface-*, digitalocean-*, hashicorp-vault-*, shopify-*, groq, xai, linear, age, databricks.
    ("access token", "hf_|gsk_|xai-|lin_api_", r"(?:hf_|gsk_|xai-|lin_api_)[A-Za-z0-9]{30,}"),
    ("access token", "_v1_|hvs.|hvb.|hvr.", r"do[opr]_v1_[a-f0-9]{64}|hv[sbr]\.[\w-]{24,}"),
    ("access token", "shp|dapi", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|dapi[a-f0-9]{32}"),
    ("access token", "age-secret-key-", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    # discord.com/developers, "Webhook": whoever has the url may post.
    ("discord webhook", "discord", r"discord(?:app)?\.com/api/webhooks/\d+/(?P<secret>[A-Za-z0-9_-]{30,})"),
    # AWS: the secret key has no shape but its length, so its name must stand before it; the plugin wants quotes.
    (
        "aws secret key",
        "aws|secret|session",
        (r"(?i:aws[\w.-]{0,30}|secret_?(?:access_?)?key|session_?token)[\\\"']*\s*[:=>]+\s*[\\\"']*"
         r"(?P<secret>(?![0-9a-f]{40}\b)[A-Za-z0-9/+=]{40,})"),
    ),
    # RFC 9110, section 11.6.2; without the name of the header, "bearer" needs a digit behind it to be no prose.
    (
        "authorization header",
        "authorization",
        r"(?i:authorization)[\\\"']*\s*[:=]\s*[\\\"']*(?i:bearer|basic|token|digest|apikey)\s+(?P<secret>[^\s\\\"',;]{6,})",
    ),
    ("authorization header", "bearer", r"(?i:bearer)\s+(?P<secret>(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{16,})"),
    # RFC 3986, section 3.2.1: passwords with the signs that the plugin leaves out, and without a user (redis).
    ("url password", "://", r"://[^\s/:@?#\"'<>`]*:(?P<secret>[^\s/?\"<>`{}\[\]]{2,})@"),
    # Signed urls (AWS Signature V4, Azure SAS, Google): the signature opens the door by itself.
    ("url signature", "sig=|signature=", r"[?&][\w-]{0,12}(?i:sig|signature)=(?P<secret>[A-Za-z0-9%+/=_-]{20,})"),
    # curl(1), option --user.
    ("url password", "curl", r"\bcurl\b[^\n|;&]{0,500}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']+:(?P<secret>[^\s\"']{2,})"),
)  # fmt: skip
"""Kind, signs in small letters, and pattern; the secret is the group of that name, else all of it."""

_USER_INFO = r"://[^\s/:@]*:[^\s/]+@"
_AFTER_NAME = r"(?i:key|pwd?|password|pass|token)[\"']?\]?[ =:>]+[\"']?[\w-]{24}"
_WORDS = "key|pw|pass|token"

_PLUGINS = (
    ("ArtifactoryDetector", "akc|ap", r"AKC[a-zA-Z0-9]{10}|AP[\dA-F][a-zA-Z0-9]{8}"),
    ("AWSKeyDetector", "a3t|abia|acca|akia|asia", r"(?:A3T|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}"),
    ("AWSKeyDetector", "aws", r"(?i:aws).{2,48}[\"'][^\s\"']{40}[\"']"),
    ("AzureStorageKeyDetector", "accountkey=", ""),
    ("BasicAuthDetector", "://", _USER_INFO),
    ("CloudantDetector|IbmCloudIamDetector|IbmCosHmacDetector|SoftlayerDetector", _WORDS, _AFTER_NAME),
    ("CloudantDetector", "cloudant.com", _USER_INFO),
    ("DiscordBotTokenDetector", ".", r"[MNO][a-zA-Z\d_-]{23,25}\.[a-zA-Z\d_-]{6}\."),
    ("GitHubTokenDetector", "ghp_|gho_|ghu_|ghs_|ghr_", ""),
    ("GitLabTokenDetector", "gl|gr1348941", r"gl[a-z]{2,5}-[\w-]{20}|GR1348941"),
    ("JwtTokenDetector", "eyj", "eyJ"),
    ("MailchimpDetector", "-us", r"-us[0-9]"),
    ("NpmDetector", ":_authtoken=", ""),
    ("OpenAIDetector", "t3blbkfj", ""),
    ("PrivateKeyDetector", "private key|putty-user-key-file", "PRIVATE KEY|PuTTY"),
    ("PypiTokenDetector", "pypi-ag", ""),
    ("SendGridDetector", "sg.", r"SG\.[\w-]{22}\."),
    ("SlackDetector", "xox|hooks.slack.com", ""),
    ("SoftlayerDetector", "softlayer", ""),
    ("SquareOAuthDetector", "sq0csp-", ""),
    ("StripeDetector", "k_live_", ""),
    ("TelegramBotTokenDetector", ":", r"\d{8}:[0-9A-Za-z_-]{35}"),
    ("TwilioKeyDetector", "ac|sk", r"(?:AC|SK)[a-z0-9]{32}"),
)
"""Classes in detect-secrets, signs in small letters, and what is worth loading it for."""

# The words of the keyword plugin, and passphrases, credentials, more kinds of keys, and `…_pass`.
_NAMES = (
    r"passw(?:or)?d|passphrase|passcode|pwd|secret|contrase[ñn]a|credential"
    r"|(?:api|auth|service|account|db|database|priv|private|client|access|encryption|signing|master|storage)[_-]?key"
    r"|(?:db|database|key)_?pass|_pass(?![a-z])"
)
_NAME = rf"(?i:(?P<token>token(?![a-z]))|{_NAMES})(?P<suffix>[\w-]{{0,20}})"
_STEM = "(?:pass|pwd|secret|contrase|credential|key|token)"
_STEM_SIGNS = (
    ("", rf"{_STEM}[^\s:=!\"'`]*\s*[:=!\"'`]"),
    ("--", rf"--[\w-]*{_STEM}"),
    # Folding parts accents from some letters, which then are no \w any more.
    ("", rf"[!=]{{2}}\s*[\w\u0300-\u036f]*?{_STEM}"),
)
_NAMED = rf"{_NAME}(?:\\*[\"'`]?\]?[ \t]*(?P<sign>:=|=>|={{1,3}}|!==?|:)(?P<gap>[ \t]*)|(?P<space>[ \t]+))"
"""A name and the sign after it; without a sign it must be an option, `--password …`."""

_BARE = r"(?:(?!\[redacted: )[^\s\"'`])"
_VALUE = (
    r"(?P<q>[\"'`])(?P<quoted>(?:\\.|(?!(?P=q))[^\n])+)(?P=q)"
    r"|\\+(?P<e>[\"'])(?P<escaped>(?:(?!\\+(?P=e))[^\n])+)\\+(?P=e)"
    rf"|\\*[\"'`]?(?P<bare>{_BARE}{{1,500}})"
)

_OTHER_THING = (
    r"(?i)[_-]?(?:file|path|names?\b|id(?:s|entifier)?\b|len|policy|hint|field|manager|counts?|type|ur[li]|env|version"
    r"|ref|label|title|prompt|provider|store|reset|expir|rotat|requir|protect|strength|min|max|usage|limit|budget|less"
    r"|ary|ion|izer)"
)
"""What may follow a name so that it no longer names the secret itself: `password_policy`, `secretary`."""

_NO_VALUE = r"""(?ix)
    (?: none | null | nil | true | false | undefined | yes | no | ok | n/a | empty | missing | unknown | unset | any
      | required | optional | expired | rotated | revoked | invalid | wrong | unchanged | changed | inherit | hidden
      | removed | redacted | todo | tbd | string | str | bytes | text | int | example | placeholder | your[\w-]* | x+
      | … | \*+ | \.+ ) \Z
    | \$ (?: [{(] | [a-z_]\w*\Z ) | % (?: \( | [a-z_]+%? \Z ) | <[\w\s.-]*>? \Z | [{\[()\],;]    # $TOKEN, %s, {name}
    | (?: self | os | process | config | settings | env | ctx | this | args | options | params | request | vars )[.\[]
    | [a-z_][\w.]* [(\[{]                                                            # a call, a type: Optional[str]
    | (?: [a-z]+[_.-] )* (?: password | passwd | pwd | secret | token | key )s? \Z   # another name: client_secret
    | [a-z]+(?-i: Password | Secret | Token | Key ) \Z
    | (?: ~ | \.{0,2} ) / (?: [\w.@-]{0,30} / )* [\w.@-]{0,30} \Z | [a-z]:\\ | [a-z][a-z0-9+.-]*://   # a path, a url
    | \d{4}-\d\d-\d\d
"""
"""What stands where a value would and is none."""


class _Rule(NamedTuple):
    kind: str
    pattern: re.Pattern[str]
    group: int | str
    accepts: Callable[[str], bool]


def _find(text: str) -> list[_Span]:
    """What has to go, in order and without overlaps."""
    folded = text.casefold()  # and not lower(): IGNORECASE takes `ſ` for an s
    spans = [span for rule in _rules(text, folded) for span in _matches(rule, text)]
    if any(sign in folded and _compiled(pattern).search(folded) for sign, pattern in _STEM_SIGNS):
        spans += [*_assigned(text), *_keyword_plugin(text)]
    return _merged(_outside_marks(text, spans)) if spans else []


def _rules(text: str, folded: str) -> Iterator[_Rule]:
    """Those whose signs the text shows. The own ones first: they know the whole extent of a secret."""
    for row in dict.fromkeys(row for sign, row in _signs() if sign in folded):
        name, _, pattern = row
        if row in _OWN:
            yield _own_rule(name, pattern)
        elif not pattern or _compiled(pattern).search(text):
            yield from (rule for plugin in name.split("|") for rule in _plugin_rules(plugin))


def _outside_marks(text: str, spans: list[_Span]) -> list[_Span]:
    """Without the marks of earlier redactions, which stand where a secret is expected."""
    inside = {at for mark in _compiled(r"\[redacted: [a-z0-9 ]+\]").finditer(text) for at in range(*mark.span())}
    return [span for span in spans if span.start not in inside or span.end - 1 not in inside]


def _matches(rule: _Rule, text: str) -> Iterator[_Span]:
    for match in rule.pattern.finditer(text):
        start, end = match.span(rule.group)
        if start < end and rule.accepts(match[rule.group]):
            yield _Span(*_trimmed(text, start, end), rule.kind)


_TOKEN_SIGNS = frozenset(string.ascii_letters + string.digits + "_-")


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without the delimiters that some plugins match along, and with the rest of a token longer than they expect."""
    while start < end and text[start] in " \t\r\n=:\"'":
        start += 1
    while start < end and text[end - 1] in " \t\r\n\"'":
        end -= 1
    while start < end < len(text) and text[end - 1] in _TOKEN_SIGNS and text[end] in _TOKEN_SIGNS:
        end += 1
    return start, end


def _merged(spans: list[_Span]) -> list[_Span]:
    """Overlapping ones as one, of the kind that begins first; at the same place, of the rule that stands first."""
    merged: list[_Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return merged


def _assigned(text: str) -> Iterator[_Span]:
    done = 0
    for match in _compiled(_NAMED).finditer(text):
        value = _compiled(_VALUE).match(text, match.end()) if match.start() >= done else None
        if value is None or _compiled(_OTHER_THING).match(match["suffix"]) or not _stands_for_secret(match, value):
            continue
        start, done = value.span(value.lastgroup or 0)
        if value["bare"]:
            run = _compiled(_BARE + "+").match(text, start)  # beyond what was looked at, too
            done = start + len(_stripped(run[0] if run else ""))
        yield _Span(start, done, _KEYWORD)


def _stands_for_secret(name: re.Match[str], value: re.Match[str]) -> bool:
    quoted = value["quoted"] or value["escaped"]
    if quoted:
        return name["space"] is None and _is_value(quoted, is_token=bool(name["token"]))
    bare = _stripped(value["bare"])
    if name["space"] and not re.search(r"(?<![\w-])--[\w-]*\Z", _before(name)):
        return False
    if not _is_value(bare, is_token=bool(name["token"])):
        return False
    return bool(_is_tight(name) or _fills_line(name, value) or re.search(r"[\d@#$%^&*!+=~|\\?]", bare))


def _is_value(text: str, *, is_token: bool = False) -> bool:
    """A token must look random: people write `token: pending`, but nobody chooses a token by hand."""
    if len(text) < 4 or _compiled(_NO_VALUE).match(text):
        return False
    return not is_token or bool(re.fullmatch(r"(?=\D*\d)(?=[^a-zA-Z]*[a-zA-Z])\S{12,}", text))


def _is_tight(name: re.Match[str]) -> bool:
    """`password=…`, as in settings, urls and command lines; nobody writes a sentence so."""
    sign = name.start("sign")
    return name["sign"] in ("=", ":=") and not name["gap"] and name.string[sign - 1] not in " \t"


def _fills_line(name: re.Match[str], value: re.Match[str]) -> bool:
    """`  password: …` and nothing else, as in yaml; prose goes on."""
    begins = re.fullmatch(r"(?:.*\n)?[ \t>-]*(?:export\s+)?[\w.-]*", _before(name), re.DOTALL)
    return bool(name["sign"] and begins and _compiled(r"[ \t\r]*(?:\n|\Z)").match(name.string, value.end()))


def _before(name: re.Match[str]) -> str:
    """A little of the text before a name: all of it, for each name, would be too much in a long text."""
    start = name.start()
    return name.string[start - 80 : start] if start > 80 else "\n" + name.string[:start]


def _stripped(bare: str) -> str:
    """Without what belongs to the sentence or the call around it."""
    return bare.rstrip(".,;:!?)]}>")


def _keyword_plugin(text: str) -> Iterator[_Span]:
    """What the keyword detector finds in each line, as it does in a file of a language it does not know."""
    if not _compiled(f"(?i:{_NAMES})").search(text):
        return
    matches = (
        (match, group)
        for line in re.finditer(r"[^\n]+", text)
        for pattern, group in _keyword_patterns().items()
        for match in pattern.finditer(text, *line.span())
    )
    for match, group in matches:
        about_other = match.start(1) == match.start() and _compiled(_OTHER_THING).match(text, match.end(1))
        if not about_other and _is_value(match[group]):
            yield _Span(*match.span(group), _KEYWORD)


@lru_cache(maxsize=1024)
def _name_of_secret(key: str) -> re.Match[str] | None:
    match = _compiled(rf"[\w.-]*?{_NAME}").fullmatch(key)
    return None if match is None or _compiled(_OTHER_THING).match(match["suffix"]) else match


def _is_secret_under(key: str, text: str) -> bool:
    name = _name_of_secret(key)
    return name is not None and _is_value(text, is_token=bool(name["token"]))


# --- loading, once each and only when needed: compiling takes milliseconds, detect-secrets 150 of them ---------------

_compiled = cache(re.compile)


@cache
def _signs() -> tuple[tuple[str, tuple[str, str, str]], ...]:
    return tuple((sign, row) for row in (*_OWN, *_PLUGINS) for sign in row[1].split("|"))


@cache
def _own_rule(kind: str, source: str) -> _Rule:
    pattern = re.compile(source)
    return _Rule(kind, pattern, "secret" if "secret" in pattern.groupindex else 0, bool)


@cache
def _plugin_rules(name: str) -> tuple[_Rule, ...]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    classes: Mapping[str, Any] = get_mapping_from_secret_type_to_class()
    plugin = next(found for found in classes.values() if found.__name__ == name)()
    kind = plugin.secret_type.lower().removesuffix(" secret")  # no mark may read `secret]: …` like a new assignment
    accepts = getattr(plugin, "is_formally_valid", bool)
    groups = (1 if pattern.groups and name not in _PREFIX_GROUPS else 0 for pattern in plugin.denylist)
    return tuple(_Rule(kind, *rule, accepts) for rule in zip(plugin.denylist, groups, strict=True))


@cache
def _keyword_patterns() -> Mapping[re.Pattern[str], int]:
    from detect_secrets.plugins.keyword import QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP

    patterns: Mapping[re.Pattern[str], int] = QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP
    return patterns
