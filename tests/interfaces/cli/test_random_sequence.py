"""Any sequence of commands leaves a repository that passes git fsck, and a history that only grows."""

from __future__ import annotations

import json
import random

import pytest

LENGTH = 70


def draw_command(rng: random.Random, known: list[str]):
    """Draw a random command, about records that may or may not exist."""
    id_ = rng.choice([*known, "OL-none"])
    word = rng.choice(["alpha", "beta", "gämma", "x" * 400, 'with "quotes"', "two\nlines"])
    revision = str(rng.randrange(1, LENGTH))
    document = json.dumps({
        "session_id": rng.choice(["s1", "s2", "s3"]), "context": word,
        "follow_ups": [{"id": f"FU-{rng.randrange(4)}", "item": word, "first_seen": "2026-11-21"}],
    })  # fmt: skip
    choices = [
        (("boot", "--session", rng.choice(["s1", "s2", "s3"])), ""),
        (("wrap", "--context", word), ""),
        (("loop", "add", word, "--expect", word), ""),
        (("loop", "add", word, "--expect", word, "--verify-file", rng.choice(["readme", "absent"])), ""),
        (("loop", "verify", id_, rng.choice(["--passed", "--failed"])), ""),
        (("loop", "close", id_), ""),
        (("followup", "add", word), ""),
        (("followup", "defer", id_), ""),
        (("followup", "done", id_), ""),
        (("pattern", "record", word, "--context", word), ""),
        (("pattern", "dismiss", id_), ""),
        (("decision", "add", word, "--why", word, "--tier", rng.choice(["raw_source", "llm_derived"])), ""),
        (("decision", "supersede", id_, "--by", rng.choice(known or ["none"])), ""),
        (("verify", "--budget", "2"), ""),
        (("rollback", revision), ""),
        (("rollback", "--record", id_), ""),
        (("rollback", "--of-session", rng.choice(["s1", "s2"])), ""),
        (("undo",), ""),
        (("redo",), ""),
        (("undo", revision), ""),
        (("write", "--file", "-"), document),
        (("write", "--file", "-", "--expected-revision", revision), document),
        (("gc",), ""),
    ]
    return rng.choice(choices)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_any_sequence_of_commands_keeps_the_repository_intact(baton, git, top, seed):
    rng = random.Random(seed)
    known: list[str] = []
    revision, tips = 0, []
    for _ in range(LENGTH):
        words, given = draw_command(rng, known)
        done = baton(*words, given=given, code=None)
        assert done.code in (0, 1, 2, 3), (words, done)
        if words[1:2] in (("add",), ("record",)) and done.code == 0:
            known.append(done.id)
        now = baton("read").json
        number = now["revision"] or 0
        assert revision <= number <= revision + 1
        if number != revision:
            tips.append(now["commit"])
        revision = number
    history = git(top, "rev-list", "baton/work").split()
    assert set(tips) <= set(history)
    assert git(top, "rev-list", "--first-parent", "baton/work").split()[:-1] == tips[::-1]
    git(top, "fsck", "--strict")
    assert baton("validate", "--json").json
    assert git(top, "status", "--porcelain") == ""
