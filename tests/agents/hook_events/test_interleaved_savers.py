"""A transcript that hooks and savers read while it grows, in processes that run at the same time: the facts in the end
are those of the whole transcript."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from turn_truths import truths_of
from waiting import until

from baton_git.agents.extraction.extracting import extract
from baton_git.agents.hook_events.hook_session import HookSessionStore
from baton_git.interfaces.background.detached import is_held

RECORDED = Path(__file__).parent.parent / "recorded"
EVENTS = {
    "claude": ("Stop", "UserPromptSubmit", "PreCompact", "Stop"),
    "codex": ("Stop", "UserPromptSubmit", "PreCompact", "Stop"),
    "gemini": ("AfterAgent", "BeforeAgent", "PreCompress", "AfterAgent"),
}
NAMES = ("interrupted", "rewound twice", "queued", "compacted", "shared")


class Step(NamedTuple):
    """The transcript grows to `share` of its bytes; then the hook of an event runs, perhaps beside those before it."""

    share: float
    event: int
    beside: bool


STEPS = st.lists(st.builds(Step, st.floats(0, 1), st.integers(0, 3), st.booleans()), min_size=2, max_size=5)


class Feed:
    """A repository whose hooks run as processes, with transcripts that are copies of recorded ones."""

    def __init__(self, repo: Path, folder: Path, cli: str, name: str) -> None:
        self.repo, self.cli, self.name = repo, cli, name
        self.session = str(uuid.uuid4())
        recorded = RECORDED / cli / name.replace(" ", "-")
        self.sources = sorted(recorded.glob("*.jsonl"))
        if cli != "codex":  # which goes on in another file after a rewind
            self.sources = [max(self.sources, key=lambda file: file.stat().st_size)]
        self.ids = extract(self.sources[-1]).session or ""
        self.folder = folder / self.session
        self.folder.mkdir()
        self.path = self.folder / "none.jsonl"
        self.running: list[subprocess.Popen[bytes]] = []

    def write(self, share: float) -> None:
        """Write this share of the bytes of the transcripts, in the order of their names."""
        replaced = {self.ids: self.session, "/home/ada/shop": str(self.repo)}
        contents = [source.read_bytes() for source in self.sources]
        for old, new in replaced.items():
            contents = [content.replace(old.encode(), new.encode()) for content in contents]
        left = int(share * sum(map(len, contents)))
        for source, content in zip(self.sources, contents, strict=True):
            if left > 0 or share == 1:
                self.path = self.folder / source.name.replace(self.ids, self.session)
                self.path.write_bytes(content[: max(left, 1)] if share < 1 else content)
            left -= len(content)

    def call(self, event: str, *, beside: bool = False, **more: Any) -> None:
        payload = {
            "session_id": self.session, "transcript_path": str(self.path), "cwd": str(self.repo),
            "hook_event_name": event, **more,
        }  # fmt: skip
        argv = [sys.executable, "-P", "-m", "baton_git", "hook", "--agent", self.cli]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=self.repo)
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        self.running.append(process)
        if not beside:
            self.wait()

    def wait(self) -> None:
        assert [process.wait(60) for process in self.running] == [0] * len(self.running)
        self.running.clear()

    def end(self) -> None:
        """End the session, and wait for all savers."""
        self.wait()
        self.write(1)
        self.call(EVENTS[self.cli][2])  # has more time than the end of a session, which is cut on a busy machine
        self.call("SessionEnd", reason="other")
        lock = HookSessionStore(str(self.repo / ".git")).path(self.cli, self.session, ".waiting")
        until(lambda: not is_held(lock))


def check(
    repo: Path, baton: Callable[..., Any], folder: Path, conversation: tuple[str, str], steps: list[Step]
) -> None:
    """Feed a transcript in steps, and another copy as a whole; the facts are equal, and those of the truth."""
    fed, whole = (Feed(repo, folder, *conversation) for _ in range(2))
    shares = sorted(step.share for step in steps)
    for share, step in zip(shares, steps, strict=True):
        fed.write(share)
        fed.call(EVENTS[fed.cli][step.event], beside=step.beside)
    fed.end()
    whole.end()
    facts, expected = (
        baton("handoff", "show", f"{one.cli}/{one.session}", "--json").json["handoff"]["facts"] for one in (fed, whole)
    )
    assert facts == expected
    last = truths_of(*conversation)[-1]
    assert facts["latest_prompts"][-1]["text"] == last.prompt
    assert facts["last_answer"]["text"] == last.answer


CONVERSATION = st.sampled_from([
    (cli, name) for cli in EVENTS for name in NAMES if (RECORDED / cli / name.replace(" ", "-")).exists()
])  # fmt: skip
FEW = settings(
    max_examples=1, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],  # each example starts a dozen processes, so a failing one is not shrunk
)  # fmt: skip


@example(("claude", "rewound twice"), [Step(0.5, 0, True), Step(0.6, 2, True), Step(0.8, 0, True), Step(0.9, 1, False)])
@given(CONVERSATION, STEPS)
@settings(FEW, phases=[Phase.explicit])
def test_savers_in_any_order_store_the_facts_of_the_whole_transcript(repo, baton, tmp_path, conversation, steps):
    check(repo, baton, tmp_path, conversation, steps)


@pytest.mark.slow
@pytest.mark.timeout(900)
@example(("codex", "rewound twice"), [Step(0.3, 0, True), Step(0.6, 0, True), Step(0.8, 2, False)])
@given(CONVERSATION, STEPS)
@settings(FEW, max_examples=20)
def test_savers_in_many_orders_store_the_facts_of_the_whole_transcript(repo, baton, tmp_path, conversation, steps):
    check(repo, baton, tmp_path, conversation, steps)
