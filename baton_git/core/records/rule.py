"""A rule: the text that a graduated pattern became, for sessions to follow."""

from typing import Annotated, ClassVar

from pydantic import Field

from baton_git.core.records.base import Record, Text
from baton_git.core.records.confirmable import Covered
from baton_git.core.records.merge_rules import Append


class Rule(Record):
    """The file `rules/<pattern-id>.md`; its id is that of the pattern."""

    kind: ClassVar[str] = "rule"

    text: Annotated[Text, Append(), Covered()] = Field(description="The rule, Markdown.")
