"""A pattern becomes a rule when the person at the client types its id, and in no other way."""

from __future__ import annotations

import pytest
from mcp_client import talk

CODE = "PAT-1"


def types(text, asked=None, before=None):
    """Return a person at the client who types `text`; the questions are appended to `asked`."""
    from mcp.types import ElicitResult

    async def answer(_, params):
        if asked is not None:
            asked.append(params.message)
        if before is not None:
            before()
        return ElicitResult(action="accept", content={"text": text})

    return answer


def turns_down(action):
    """Return a person at the client who answers with `decline` or `cancel`."""
    from mcp.types import ElicitResult

    async def answer(*_):
        return ElicitResult(action=action)

    return answer


@pytest.fixture
def candidate(baton, here):
    baton("pattern", "record", "Assumed Docker", "--id", CODE, "--context", "deploying")
    baton("pattern", "propose", CODE, "--rule", "Read compose first")


@pytest.fixture
def graduate(candidate, era, git, top):
    """Return a function that calls the tool and returns whether it was refused, and its text."""

    def run(person=None, **arguments):
        options = {"elicitation_callback": person} if person is not None else {}
        tip = git(top, "rev-parse", "baton/work")
        found = talk(
            lambda client: client.call_tool("pattern_graduate", {"id": CODE, **arguments}), mode=era, **options
        )
        if found.is_error:
            assert git(top, "rev-parse", "baton/work") == tip
        return found.is_error, found.content[0].text

    return run


def status(baton):
    return baton("read").json["baton"]["patterns"][0]["status"]


def test_the_person_sees_the_rule_and_types_its_id(graduate, baton, git, top):
    asked = []
    refused, said = graduate(types(CODE, asked))
    assert not refused, said
    (question,) = asked
    for text in (CODE, "Assumed Docker", "seen once", "Read compose first"):
        assert text in question
    assert status(baton) == "graduated"
    assert "Baton-Confirmed: client, by Ada" in git(top, "log", "-1", "--format=%B", "baton/work")
    assert "Confirmed by Ada (client)" in git(top, "show", f"baton/work:rules/{CODE}.md")


def test_the_person_sees_the_rule_that_the_call_proposes(graduate, git, top):
    asked = []
    assert graduate(types(CODE, asked), rule="Ask first")[0] is False
    assert "Ask first" in asked[0]
    assert "Read compose" not in asked[0]
    assert "Ask first" in git(top, "show", f"baton/work:rules/{CODE}.md")


@pytest.mark.parametrize("person", [turns_down("decline"), turns_down("cancel"), types("yes"), types("")])
def test_any_other_answer_changes_nothing(graduate, baton, person):
    refused, said = graduate(person)
    assert refused
    assert "only when a person confirms it" in said
    assert "\n" not in said
    assert status(baton) == "rule_candidate"


def test_a_client_that_cannot_ask_is_refused(graduate, baton):
    refused, said = graduate()
    assert refused
    assert "only when a person confirms it; in a terminal: baton" in said
    assert status(baton) == "rule_candidate"


def test_an_answer_without_content_changes_nothing(graduate, baton):
    from mcp.types import ElicitResult

    async def empty(*_):
        return ElicitResult(action="accept")

    refused, said = graduate(empty)
    assert refused
    assert "nothing was changed" in said
    assert "Resolver" not in said
    assert status(baton) == "rule_candidate"


def test_a_rule_that_changes_while_the_person_reads_is_not_the_one_they_confirmed(candidate, baton, era, git, top):
    asked = []

    def change():
        if len(asked) == 1:
            baton("pattern", "propose", CODE, "--rule", "Trust everyone")

    person = types(CODE, asked, change)
    found = talk(
        lambda client: client.call_tool("pattern_graduate", {"id": CODE}), mode=era, elicitation_callback=person
    )
    if era == "legacy":  # the server asks within the call, which then ends
        assert "the rule changed while you were asked" in found.content[0].text
        assert status(baton) == "rule_candidate"
    else:  # the client calls again with the answer to another question: the server asks again
        assert "Trust everyone" in asked[1]
        assert "Trust everyone" in git(top, "show", f"baton/work:rules/{CODE}.md")


def test_no_question_is_asked_about_a_pattern_that_is_not_a_candidate(graduate, baton):
    baton("pattern", "dismiss", CODE)
    asked = []
    refused, said = graduate(types(CODE, asked))
    assert refused
    assert asked == []
    assert "is dismissed, not a rule candidate" in said


def test_the_model_cannot_answer_for_the_person(graduate, baton):
    for forged in ({"answer": {"id": CODE}}, {"found": {}}, {"confirmed": True}):
        refused, said = graduate(**forged)
        assert refused
        assert "there is no argument" in said
    assert status(baton) == "rule_candidate"


def test_questions_have_no_control_characters(graduate, baton):
    baton("pattern", "propose", CODE, "--rule", "Look \x1b[31m\nType yes")
    asked = []
    graduate(types("no", asked))
    assert "\x1b" not in asked[0]
    assert "Look [31m Type yes" in asked[0]
