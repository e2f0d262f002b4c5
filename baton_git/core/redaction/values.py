"""Recognise values that are not secrets: placeholders, references, code, words."""

from __future__ import annotations

import re
from functools import cache

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
