"""A namespace whose name is a secret is never created."""

from __future__ import annotations

import pytest

SECRET = "ghp_" + "a1B2c3D4e5" * 4


@pytest.mark.parametrize("words", [("init",), ("boot",), ("followup", "add", "x"), ("read",), ("status",)])
def test_a_secret_cannot_be_the_name_of_a_namespace(baton, git, top, words):
    done = baton(*words, "--namespace", f"project:{SECRET}", code=1)
    assert "the name of the namespace holds a secret" in done.err
    assert SECRET not in done.out + done.err
    assert git(top, "for-each-ref", "--format=%(refname)", "refs/heads/baton") == "refs/heads/baton/work"


def test_an_existing_namespace_named_like_a_secret_can_be_written(baton, git, top):
    baton("init", "--namespace", "work")
    ref = f"refs/heads/baton/{SECRET.lower()}"
    git(top, "update-ref", ref, git(top, "rev-parse", "refs/heads/baton/work"))
    baton("followup", "add", "x", "--namespace", SECRET.lower())
