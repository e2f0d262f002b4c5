"""The names of secrets: `password`, `api_key`, `token`, and the words for them in other languages.

`NAME` matches a name with one of the groups `random`, `short` or neither. The group decides what a value must look
like, because words such as `token` and `pass` also occur in ordinary text:

- `random`: a generated token, see `values.is_random`;
- `short`: a word of at least six characters with a digit and a letter;
- otherwise: anything that is not prose, a placeholder or a reference.
"""

from __future__ import annotations

from collections.abc import Iterator

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
