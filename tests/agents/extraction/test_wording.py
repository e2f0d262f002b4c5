"""Questions and next steps are read from an answer by its wording."""

from __future__ import annotations

import pytest

from baton_git.agents.extraction.conversation import MAX_QUESTIONS, MAX_STEPS, find_next_steps, find_questions

ANSWER = """Done: the export writes semicolons. Is that what the customer wants? I kept the old header.

```
what is this?
```

## Next steps
1. **Update** the docs
2. Add a test for quotes
   - a detail

Everything else stays.
- not a step

Remaining:
- [ ] ask Anna
* publish

Which branch should I push to?
"""


def test_questions_are_sentences_that_end_with_a_question_mark() -> None:
    assert find_questions(ANSWER) == ["Is that what the customer wants?", "Which branch should I push to?"]


def test_steps_are_the_items_below_headings_of_remaining_work() -> None:
    assert find_next_steps(ANSWER) == ["Update the docs", "Add a test for quotes", "ask Anna", "publish"]


@pytest.mark.parametrize(
    "heading",
    [
        "Next steps:", "### Next Steps", "**TODO**", "TODOs", "Remaining work:", "What's left to do:",
        "**Open questions:**", "Follow-ups", "Still to do:", "Suggested next steps (optional):", "Not done yet:",
    ],
)  # fmt: skip
def test_a_heading_of_remaining_work_begins_a_list_of_steps(heading: str) -> None:
    assert find_next_steps(f"{heading}\n\n- a\n- b\n") == ["a", "b"]


@pytest.mark.parametrize("heading", ["Changes:", "Summary", "I fixed the next item in the list. It works.", "Todo app"])
def test_other_headings_and_sentences_begin_no_list_of_steps(heading: str) -> None:
    assert find_next_steps(f"{heading}\n- a\n") == []


def test_results_are_bounded() -> None:
    assert len(find_questions("Really so? " * 3 + "".join(f"Is it {n}? " for n in range(50)))) == MAX_QUESTIONS
    steps = find_next_steps("Next:\n" + "".join(f"- step {n} {'x' * 900}\n" for n in range(50)))
    assert len(steps) == MAX_STEPS
    assert max(map(len, steps)) <= 300
    assert find_questions("no question") == find_next_steps("no step") == []
