"""The turns of a session keep what matters most within their limit."""

from __future__ import annotations

import pytest

from baton_git.agents.turn_store import MAX_BYTES, MAX_TEXT, Turn, bound_turns, encode_turn, keep_ends


def make_turns(count: int, length: int) -> list[Turn]:
    return [
        Turn(number, None, f"p{number} {'é' * length} end{number}", f"a{number} {'x' * length} end{number}", number, 0)
        for number in range(1, count + 1)
    ]


def size_of(turns: tuple[Turn, ...]) -> int:
    return sum(len(encode_turn(turn)) for turn in turns)


def test_few_short_turns_are_kept_word_for_word() -> None:
    turns = tuple(make_turns(10, 100))
    assert bound_turns(turns) == turns
    assert bound_turns(()) == ()


def test_a_long_prompt_is_cut_in_the_middle() -> None:
    (turn,) = bound_turns([Turn(1, None, "Fix this: " + "x" * 68_000 + " Thanks.", "Done.", 1, 0)])
    assert turn.prompt.startswith("Fix this: x")
    assert turn.prompt.endswith("x Thanks.")
    assert len(turn.prompt.encode()) <= MAX_TEXT
    assert turn.answer == "Done."


def test_the_oldest_middle_turns_are_shortened_first() -> None:
    turns = make_turns(30, 1000)
    bounded = bound_turns(turns)
    assert size_of(bounded) <= MAX_BYTES
    assert [turn.number for turn in bounded] == list(range(1, 31))
    assert bounded[0] == turns[0]
    assert bounded[-3:] == tuple(turns[-3:])
    is_short = [len(turn.prompt) < len(turns[turn.number - 1].prompt) for turn in bounded[1:-3]]
    assert is_short == sorted(is_short, reverse=True)
    assert True in is_short


def test_a_session_of_thousands_of_turns_keeps_its_first_and_last() -> None:
    bounded = bound_turns(make_turns(5000, 40))
    numbers = [turn.number for turn in bounded]
    assert size_of(bounded) <= MAX_BYTES
    assert numbers[0] == 1
    assert numbers[-1] == 5000
    assert len(numbers) > 100


def test_bounding_in_pieces_stays_within_the_limit() -> None:
    bounded: tuple[Turn, ...] = ()
    for turn in make_turns(60, 3000):
        bounded = bound_turns((*bounded, turn))
    assert size_of(bounded) <= MAX_BYTES
    assert bounded[0].prompt.startswith("p1 ")
    assert bounded[-1].answer.endswith("end60")


def test_a_text_is_cut_between_characters() -> None:
    for most in range(20, 60):
        kept = keep_ends("é" * 100, most)
        assert len(kept.encode()) <= most
        assert set(kept) == {"é", " ", "[", "…", "]"}


@pytest.mark.parametrize("at", range(0, 60, 7))
def test_a_path_is_not_cut_in_two(at: int) -> None:
    kept = keep_ends("x" * at + " (/home/ada/shop/src/a.py) " * 40, 300)
    assert set(kept.replace("x", "").split()) <= {"(/home/ada/shop/src/a.py)", "[…]"}
    assert len(kept.encode()) <= 300


def test_a_text_without_spaces_keeps_both_ends() -> None:
    kept = keep_ends("a" * 2000 + "b" * 2000, 1000)
    assert kept.startswith("aaa")
    assert kept.endswith("bbb")


def test_a_text_whose_end_is_a_cut_path_ends_with_the_mark() -> None:
    kept = keep_ends("Do what the plan says " * 3 + "/home/ada/" + "very-long-name" * 20, 80)
    assert kept == "Do what the plan says Do what the plan says Do what the plan says […]"
