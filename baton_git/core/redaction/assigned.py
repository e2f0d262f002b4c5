"""Find values that are assigned to a name such as `password`, `api_key` or `token`, in any language.

Values that are prose (`the password: must be rotated`), placeholders (`secret=none`), references (`$TOKEN`,
`os.environ[…]`) or paths are not secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

_PASSWORDS = (
    r"passw(?:or)?d|passwort|pass[_ -]?phrase|passcode|pwd|(?<!\d\d\d:)secret|kennwort|mdp(?![a-z])"
    r"|mot[_ -]de[_ -]passe|motdepasse|contrase[ñn]a|senha(?![a-z])|palavra[_ -]passe|wachtwoord|l[öo]senord"
    r"|adgangskode|passord|salasana"
    r"|has[łl]o(?![a-z])|heslo(?![a-z])|jelsz[óo]|[şs]ifre(?![a-z])|lozinka|geslo(?![a-z])"
    r"|parol[aă](?:sı|[ _-]d'ordine)?(?![a-ză])"
    r"|парол[ья]|лозинка|κωδικ[όο]ς|密[码碼]|口令|パスワード|暗証番号|비밀번호|암호|mật khẩu"
    r"|รหัสผ่าน|पासवर्ड|סיסמה|كلمة (?:المرور|السر)"
)
_KEYS = (
    r"(?:db|database|key|user|root|admin|store|ssh|sudo|become|smtp|mail|ftp|http|proxy|keystore|truststore|vnc|wifi)"
    r"_?pass(?![a-z])|_pass(?![a-z])"
    r"|(?:api|app|application|auth|service|account|db|database|priv|private|client|access|encryption|signing|master"
    r"|storage|license|licence|consumer|shared|subscription|webhook|hmac|admin|deploy|integration|server|write|ingest"
    r"|insert|platform|publish|project|user|verification|global|secret|security|session|cookie|jwt|preshared|host"
    r"|management|validation|decryption|publishing|rest|search|query|function)[_-]?key"
    r"|(?:api|access|secret|auth) key(?![a-z])|(?<![a-z])salt(?![a-z])|app[_-]certificate|api[_-]?hash|(?:bind"
    r"|root|ldap|my)_?pw(?![a-z])"
)
_NO_POSITION = r"(?<!page_)(?<!page-)(?<!next_)(?<!next-)(?<!continuation_)(?<!cursor_)(?<!sync_)(?<!cancel_)"
"""Words before `token` that make it a position in a list instead of a secret."""
_RANDOM = (
    rf"{_NO_POSITION}token(?![a-rt-z])|"
    r"credential|_auth(?![a-z])|_pat(?![a-z])|(?-i:[A-Z0-9]_KEY(?![A-Za-z]))|_pw(?![a-z])"
    r"|(?<![a-z])(?:dsn|psk|clave|chave|chiave|cl[ée]|sleutel|nyckel|klucz|ключ|токен)(?![a-zа-я])"
    r"|schl[üu]e?ssel(?![a-z])"
    r"|密[钥鑰]|令牌|トークン|秘密鍵|토큰"
    r"|(?-i:(?<![\w-])(?!Idempotency|Cache|Surrogate|Partition|Sort|Public|Primary|Foreign|Sec|Registry|Access-Control)"
    r"[A-Z][A-Za-z]{1,30}-(?:Key|Auth)(?![\w-]))"
)
_SHORT = r"(?<![a-z])(?:pass|pw|pswd|passwd)(?![a-z_-])"

NAME = rf"(?i:(?P<random>{_RANDOM})|(?P<short>{_SHORT})|{_PASSWORDS}|{_KEYS})(?P<suffix>[\w-]{{0,20}})"
"""A name of a secret. The suffix can show that it names something else, see `OTHER_THING`."""
PASSWORD = rf"(?i:{_PASSWORDS})"

STEMS = (
    "pass", "pwd", "secret", "contrase", "credential", "key", "-key", "token", "_auth", "-auth", "_pat",
    "cookie", "dsn", "pw", "kennwort", "mot_de", "mot-de", "motde", "mdp", "senha", "palavra", "wachtwoord",
    "losenord", "adgangskode", "salasana", "haslo", "heslo", "jelsz", "sifre", "lozinka", "geslo", "parol",
    "salt", "certificate", "psk", "clave", "hash", "chave", "chiave", "sleutel", "nyckel", "klucz",
    "schluessel", "schlussel", "pswd", "mot de",
)  # fmt: skip
"""Case-folded stems of the names in ASCII; a text that contains none of them is not searched."""
OTHER_STEMS = (
    "lösenord", "hasło", "şifre", "parolă", "парол",
    "лозинка", "ключ", "токен", "κωδικ", "密", "口令", "令牌",
    "パスワード", "暗証番号", "トークン", "비밀번호", "암호", "토큰", "รหัสผ่าน",
    "पासवर्ड", "סיסמה", "كلمة", "schlüssel", "clé", "khẩu",
)  # fmt: skip
"""The other stems, which are searched for only in texts that are not ASCII."""
_BEFORE = {"pass": 12, "key": 14, "-key": 32, "-auth": 32, "certificate": 4, "hash": 4, "pw": 5, "khẩu": 5}
"""Maximum number of characters of a name before its stem: `subscription_key`, `X-Some-Long-Header-Key`; otherwise 1."""

OTHER_THING = (
    r"(?i)[_-]?(?:file|path|s?[_-]?dir|s?manager|encrypt|names?\b|id(?:s|entifier)?\b|len|policy|hint|field|counts?"
    r"|type|ur[li]|env|version"
    r"|ref|label|title|prompt|provider|store|reset|expir|rotat|requir|protect|strength|min|max|usage|limit|budget|less"
    r"|ary|ion|izer|helper|mode|input|form|box|change|class|format|algorithm|hash|ttl|scope|validator|valid|regex|alias"
    r"|placeholder|source|from|prefix|header|status|length|rules?|mutation|visible|toggle|endpoint|arn|vault|engine)"
)
"""Suffixes after which a name no longer names a secret itself: `password_policy`, `secretary`."""


def find_stems(folded: str) -> list[tuple[int, int]]:
    """Return the ranges of a case-folded text in which the name of a secret can begin, in order, without overlaps."""
    stems = [stem for stem in STEMS if stem in folded]
    if not folded.isascii():
        stems += [stem for stem in OTHER_STEMS if stem in folded]
    ranges: list[tuple[int, int]] = []
    for start, end in sorted(place for stem in stems for place in _find_all(stem, folded)):
        if ranges and start <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
        else:
            ranges.append((start, end))
    return ranges


def _find_all(stem: str, folded: str) -> Iterator[tuple[int, int]]:
    at, before = folded.find(stem), _BEFORE.get(stem, 1)
    while at >= 0:
        yield max(0, at - before), at + len(stem)
        at = folded.find(stem, at + 1)


# --- values that are not secrets: placeholders, references, code, words

_LONGEST = 400
"""Maximum length, in characters, of a placeholder or any other text that `_NO_VALUE` recognises."""

_PLACEHOLDER = r"""(?ix)
    \$ (?: [{(]{1,2} | [a-z_]\w*\b ) | % (?: [({] | [a-z_]+% ) | <[\w\s.:/-]*>?      # $TOKEN, <token>
    | \{\{? [\w\s.$()|'\"-]* \}?\}? \Z                                                          # {name}
    | \#\{ | \[[\w\s-]+\] | @[\w.]+@ \Z | ![a-z]\w* \Z | enc\[ | vault:v\d | env[:.(]
    | secrets?\. | vault: | op:// | ref\+ | arn:
    | (?: .{0,40} [^a-z] )? (?: your | my | insert | enter | replace | put | add | paste )
        [-_ ] [a-z_ -]* \Z
    | your [a-z_-]* \Z
    | (?: .{0,40} [^a-z0-9] )? (?: change | replace | fill | rotate ) [-_ ]? (?: me | this | it | in ) \b
    | .{0,40} (?: placeholder | redacted | dummy | [x*•]{6} | … )
    | .{0,40} [-_] \.{3} | \.{3} | (?: user_? | db_? )? (?: password | passwd | pass | pwd | secret | token ) \Z
    | (?: .{0,40} [^a-z0-9] )? example (?: [^a-z0-9] | \Z )
"""

_NO_VALUE = r"""(?ix)
    (?: none | null | nil | true | false | undefined | yes | no | ok | n/a | empty | missing | unknown | unset | any
      | required | optional | expired | rotated | revoked | invalid | wrong | unchanged | changed | inherit | hidden
      | removed | redacted | todo | tbd | string | str | bytes | text | int | example | placeholder | x+
      | read-?only | read-?write | same-origin | include | omit | prompt | stdin | default | auto | manual | enabled
      | disabled | masked | encrypted | pending | valid | active | external | internal | managed | public | private
      | obligator(?:io|ia|isk|y) | obligatoire | obrigatóri[oa] | verplicht | pflichtfeld | erforderlich | wymagan[eya]
      | povinn[éýá] | påkrævd | krävs | richiest[oa] | requis(?:e)? | requerid[oa]
      | postgres | root | guest | admin | mysql | redis | rabbitmq | minioadmin | test(?:ing|123)? | changeit | letmein
      | falsch | vergessen | oublié | siehe | voir
      | обязательно | обязателен | 必填 | 必須 | 必要 | 필수
      | … | \*+ | \.+ | -+ | _+ | \#+ ) [,;.]* \Z
    | [{\[()\],;]
    | (?: self | os | process | config | settings | env | ctx | this | args | options | params | request | vars | var
        | local | data | secrets | inputs | github | steps | props | state | cfg | conf | opts ) [.\[]
    | [a-z_][\w.]* [(\[{]                                                            # a call, a type: Optional[str]
    | [a-z_]+ (?: \.[a-z_]+ )+ \Z | [a-z_]\w{0,30}(?:->|::)\w | @[\w.]+ \Z                # an attribute
    | (?: [a-z]+[_.-] ){0,20} (?: password | passwd | pwd | secret | token | key | credential )s? \Z   # client_secret
    | (?: pass | pw | credential ) s? \Z | [a-z]+(?-i: Password | Secret | Token | Key | Pass ) \Z
    | (?: ~ | \.{0,2} ) / (?: [\w.@-]{0,30} / )* [\w.@-]{0,30} \Z                               # a path
    | [a-z]:\\ | [a-z][a-z0-9+.-]{0,20}://                                             # a url
    | \d{4}-\d\d-\d\d
"""


@cache
def lazy_regex(expression: str) -> re.Pattern[str]:
    """Compile an expression on first use: most processes never search a text with a sign of a secret."""
    return re.compile(expression)


def is_placeholder(text: str) -> bool:
    """Whether a text is a placeholder for a secret, such as `$TOKEN`; checked for every match of a rule."""
    return len(text) <= _LONGEST and lazy_regex(_PLACEHOLDER).match(text) is not None


def is_value(text: str, *, is_token: bool = False) -> bool:
    """Whether a value assigned to the name of a secret can be a secret.

    Args:
        text: the value.
        is_token: whether it must look random. People write `token: pending`, but real tokens are generated.
    """
    if len(text) < 4 or is_placeholder(text):
        return False
    if len(text) <= _LONGEST and lazy_regex(_NO_VALUE).match(text):
        return False
    return not is_token or is_random(text)


def is_random(text: str) -> bool:
    """Whether a text is one long word with a digit and a letter."""
    return len(text) >= 12 and has_digit_and_letter(text) and lazy_regex(r"\s").search(text) is None


def has_digit_and_letter(text: str) -> bool:
    """Whether a text contains at least one digit and one letter."""
    return lazy_regex(r"\d").search(text) is not None and lazy_regex(r"[^\W\d_]").search(text) is not None


KIND = "keyword secret"

_QUOTE = r"&quot;|\\{1,4}u0022|%22"
"""A quotation mark in HTML, in escaped JSON and in a URL."""
_NAMED = (
    rf"{NAME}(?:\\{{0,8}}(?:[\"'`]|{_QUOTE})?[*_]{{0,3}}(?:\[\d{{0,4}}\])?\]?\)?"
    r"(?:\??:? ?[&A-Za-z][A-Za-z<>\[\]?|.,&' ]{0,40}(?= =))?[ \t]{0,40}"
    r"(?P<sign>:=|=>|->|<-|={1,3}|!==?|:-|:(?!:)|：|＝|→|\|{1,2}|\?\?|%3[aAdD]|,(?=[ ]{0,20}[\"']))"
    rf"(?P<gap>\*{{0,3}}[ \t]{{0,40}}(?:\\?\n[ \t]{{1,40}}|(?:{_QUOTE})?(?=\S)))"
    r"(?:[\[({][ \t]{0,4}(?:[\"'](?:value|secret|key|token|data)[\"'][ \t]{0,4}:[ \t]{0,4})?(?=[\"']))?"
    r"|(?P<call>\((?:b(?=[\"']))?)(?=[\"'])|(?P<space>[ \t]{1,40}(?:\\\n[ \t]{0,40})?))"
)
"""A name and the operator after it. Spaces alone count if the name is an option (`--password …`), if a command sets it
(`ENV PASSWORD …`), or if a quoted value and a `;` follow. The gap can be a line break with an indented value."""

_QUOTED = (
    r"[brfuN]?\"(?P<double>[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+)\"|[brfuN]?'(?P<single>[^'\\\n]*+(?:\\.[^'\\\n]*+)*+)'"
    r"|`(?P<back>[^`\n]*+)`"
    r"|\\++\"(?P<escaped>[^\"\n]*+)(?<=\\)\"|\\++'(?P<escaped1>[^'\n]*+)(?<=\\)'"
)
_BARE = r"\\{0,8}[\"'`]?(?P<bare>[^\s\"'`]{1,500})"
_MARK = "[redacted: "
_COMPARED = (
    r"(?:\"(?P<double>[^\"\n]{4,200})\"|'(?P<single>[^'\n]{4,200})')[ \t]{0,8}[!=]{2,3}[ \t]{0,8}\w{0,40}?"
    rf"{PASSWORD}"
)
_SETTER = (
    r"(?:^|[\s\"'(;&|])(?i:ENV|ARG|set(?:env)?|SetEnv|config(?:[ \t]+set)?|secrets?[ \t]+(?:set|put|add)"
    r"|(?:set|add)-secret|\#define|const|proxy_set_header|header|export)"
    r"(?:[ \t]+-{1,2}[\w-]{1,20})?[ \t]+[\"']?[\w./:@$-]{0,80}\Z"
)
"""What precedes the name of a setting that a command sets: `ENV `, `set -x `, `config set //host/:_`."""
_LONGEST_NAME = 40
"""More characters than a name can have after the end of its stem."""
_LOOSE = frozenset({"|", "||", "??", ":-"})


def find_assigned(text: str, folded: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each value that is assigned to, or compared with, the name of a secret.

    Args:
        text: the text to search.
        folded: the same text, case-folded.
    """
    stems = find_stems(folded)
    if not stems:
        return
    if len(folded) != len(text):  # a letter such as ß has two when it is folded, so positions differ
        stems = [(0, len(text))]
    yield from _find_compared(text)
    done = 0
    for name in _find_names(text, stems):
        if name.start() < done or lazy_regex(OTHER_THING).match(name["suffix"]):
            continue
        span = _find_quoted(text, name) or _find_bare(text, name)
        if span is not None:
            done = span[1]
            yield span


def _find_names(text: str, stems: list[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """Yield the names of secrets with the operator after them.

    The expression has dozens of alternatives, so it is tried only around the stems of the names.
    """
    at = 0
    for start, end in stems:
        at = max(at, start)
        while name := lazy_regex(NAME).search(text, at, min(len(text), end + _LONGEST_NAME)):
            if name.start() > end:
                break
            match = lazy_regex(_NAMED).match(text, name.start())
            if match:
                yield match
            at = match.end() if match else name.start() + 1


def _find_compared(text: str) -> Iterator[tuple[int, int]]:
    """Yield the values that are compared with a name: `"…" == password`."""
    if "==" in text or "!=" in text:
        for match in lazy_regex(_COMPARED).finditer(text):
            if is_value(match[match.lastgroup or 0]):
                yield match.span(match.lastgroup or 0)


def _find_quoted(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    value = lazy_regex(_QUOTED).match(text, name.end())
    if value is None:
        return None
    if name["space"] and not _takes_next_word(name) and text[value.end() : value.end() + 1] != ";":
        return None
    start, end = value.span(value.lastgroup or 0)
    if (value.lastgroup or "").startswith("escaped"):
        end = start + len(text[start:end].rstrip("\\"))
    return (start, end) if _is_secret(name, text[start:end]) else None


def _find_bare(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    value = lazy_regex(_BARE).match(text, name.end())
    if (
        value is None
        or is_placeholder(value["bare"])
        or name["call"]
        or name["sign"] == ","
        or (name["space"] and not _takes_next_word(name) and "\t" not in name["space"])
    ):
        return None
    start = value.start("bare")
    bare = _strip_punctuation(value["bare"].partition(_MARK)[0])
    if not _is_secret(name, bare):
        return None
    if not (_is_tight(name) or _fills_line(name, start + len(bare)) or lazy_regex(r"[\d@#$%^&*!+=~|\\?]").search(bare)):
        return None
    run = lazy_regex(r"[^\s\"'`]+").match(text, start)  # may be longer than `bare`
    return start, start + len(_strip_punctuation(run[0].partition(_MARK)[0])) if run else start


def _is_secret(name: re.Match[str], value: str) -> bool:
    """Whether a value can be the secret that the name announces."""
    if not is_value(value) or (name["random"] and not is_random(value)):
        return False
    sign, gap = name["sign"], name["gap"] or name["space"] or ""
    is_weak = bool(name["short"]) or sign in _LOOSE or "\n" in gap or "\t" in (name["space"] or "")
    return not is_weak or (len(value) >= 6 and has_digit_and_letter(value) and not lazy_regex(r"\s").search(value))


def _is_tight(name: re.Match[str]) -> bool:
    """Whether the operator is `=` or `:=` without spaces around it, as in settings, URLs and command lines."""
    sign = name.start("sign")
    return name["sign"] in ("=", ":=") and not name["gap"] and name.string[sign - 1] not in " \t"


def _takes_next_word(name: re.Match[str]) -> bool:
    """Whether the next word is the value.

    The name is an option (`--password …`), a keyword of Clojure (`:password "…"`), or a command sets it (`ENV NAME …`).
    """
    before = name.string[max(0, name.start() - 120) : name.start()]
    return (
        lazy_regex(r"(?<![\w-])--?[\w-]*\Z|[({\s]:[\w-]*\Z").search(before[-40:]) is not None
        or lazy_regex(_SETTER).search(before.rpartition("\n")[2]) is not None
    )


def _fills_line(name: re.Match[str], end: int) -> bool:
    """Whether the line contains only the name and the value (`  password: …`), as in YAML, unlike in prose."""
    first = max(0, name.start() - 80)
    newline = name.string.rfind("\n", first, name.start())
    if not name["sign"] or (newline < 0 and first):
        return False
    begins = lazy_regex(r"[ \t>*-]*+(?:export[ \t]++)?[\"']?[\w.-]*+").fullmatch(
        name.string, max(newline + 1, first), name.start()
    )
    return begins is not None and lazy_regex(r"[ \t\r,;*]*+(?:\n|\Z)").match(name.string, end) is not None


def _strip_punctuation(bare: str) -> str:
    """Remove trailing punctuation of the surrounding sentence or call."""
    return bare.rstrip(".,;:!?)]}>*").removesuffix("&quot")


@lru_cache(maxsize=1024)
def _name_of_secret(key: str) -> re.Match[str] | None:
    if not find_stems(key.casefold()):
        return None
    match = lazy_regex(rf"[\w.-]*?{NAME}").fullmatch(key)
    return None if match is None or lazy_regex(OTHER_THING).match(match["suffix"]) else match


def is_assigned(key: str, text: str) -> bool:
    """Whether a text is a secret because of its key: `{"db_password": "…"}`."""
    name = _name_of_secret(key) if len(key) <= 120 else None
    if name is None or not is_value(text):
        return False
    if name["random"]:
        return is_random(text)
    return not name["short"] or (len(text) >= 6 and has_digit_and_letter(text))
