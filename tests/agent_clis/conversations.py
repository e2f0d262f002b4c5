"""Conversations with a real CLI in which turns end in every way. `turn_truths` has the truth about their turns.

`python tests/agent_clis/record.py` stores their transcripts in `tests/agents/recorded`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from turn_truths import BROKEN, DOCUMENTED, KAFKA, LIMIT, LOGGER, NATS, SECOND, TRANSLATED, Truth

from agent_clis.agent import Agent, Session
from agent_clis.model_server import Request
from agent_clis.terminal import until
from agent_clis.wires import Say, Shell, Turn

WAIT = Shell("sh -c 'while [ ! -e go ]; do sleep 0.2; done'")
"""Waits for the file `go`; a bare `sleep` is refused by Claude Code."""


def exchange(session: Session, *truths: Truth) -> None:
    for truth in truths:
        session.ask(truth.prompt, truth.answer)


@contextmanager
def silence(agent: Agent) -> Iterator[None]:
    """Keep the model from answering its next request within the block."""
    over = threading.Event()

    def answer_late(request: Request) -> Turn:
        over.wait(60)
        return Turn((Say("too late"),))

    agent.model.play_as(answer_late)
    try:
        yield
    finally:
        over.set()


def work(agent: Agent, session: Session, prompt: str) -> None:
    """Send a prompt upon which the model says something and starts a command that does not end by itself."""
    agent.model.play(Say("I look."), WAIT)
    session.start(prompt)
    session.wait_for_text("I look.")
    time.sleep(1.5)  # until the command runs


def interrupt(agent: Agent) -> None:
    with agent.session() as session:
        exchange(session, LOGGER)
        work(agent, session, "Deploy it")
        session.keys("Escape")
        session.wait_for_text(agent.cli.interrupted)
        exchange(session, DOCUMENTED)
        session.quit()


def interrupt_early(agent: Agent) -> None:
    """Press Escape before the model has said anything."""
    with agent.session() as session:
        exchange(session, LOGGER)
        with silence(agent):
            session.start("Deploy it")
            time.sleep(1)
            session.keys("Escape")
            until(lambda: agent.cli.busy not in session.screen, lambda: f"still at work:\n{session.screen}")
            time.sleep(1)
        session.keys_in_turn("C-u")
        exchange(session, DOCUMENTED)
        session.quit()


def fail(agent: Agent) -> None:
    with agent.session() as session:
        exchange(session, LOGGER)
        # Claude Code repeats a bad request without what it thinks is wrong; the others tell no text of a broken server
        agent.model.fail(500 if agent.cli.name == "claude" else 400, BROKEN)
        session.start("Deploy it")
        session.wait_for_text(BROKEN)
        time.sleep(1)
        exchange(session, DOCUMENTED)
        session.quit()


def reach_the_limit(agent: Agent) -> None:
    with agent.session() as session:
        exchange(session, LOGGER)
        agent.model.fail(429, LIMIT)
        session.start("Deploy it")
        until(lambda: "limit" in session.screen.lower(), lambda: f"no limit:\n{session.screen}")
        time.sleep(1)  # then Gemini CLI asks how to go on


def rewind(agent: Agent) -> None:
    with agent.session() as session:
        exchange(session, LOGGER, KAFKA, DOCUMENTED)
        session.go_back(2)
        exchange(session, NATS)
        session.quit()


def rewind_twice(agent: Agent) -> None:
    """Take back the last of three prompts, then the second and what replaced the last."""
    with agent.session() as session:
        exchange(session, LOGGER, KAFKA, DOCUMENTED)
        session.go_back(1)
        exchange(session, TRANSLATED)
        session.go_back(2)
        exchange(session, NATS)
        session.quit()


def queue(agent: Agent) -> None:
    """Send a prompt while the model is at work."""
    with agent.session() as session:
        work(agent, session, "Write the exporter")
        if agent.cli.name == "gemini":
            agent.model.say("Written.")
        agent.model.say(SECOND.answer)
        session.type_once(SECOND.prompt)
        time.sleep(1)
        (agent.project / "go").touch()
        until(lambda: session.is_done(SECOND.answer), lambda: f"still at work:\n{session.screen}")
        exchange(session, DOCUMENTED)
        session.quit()


def compact(agent: Agent) -> None:
    with agent.session() as session:
        exchange(session, LOGGER, KAFKA)
        session.compact()
        exchange(session, DOCUMENTED)
        session.quit()


def resume(agent: Agent) -> None:
    agent.model.say(LOGGER.answer)
    first = agent.run(LOGGER.prompt)
    agent.model.say(KAFKA.answer)
    agent.run(KAFKA.prompt, resume=first.session)


def fork(agent: Agent) -> None:
    agent.model.say(LOGGER.answer)
    first = agent.run(LOGGER.prompt)
    agent.model.say(KAFKA.answer)
    agent.fork(KAFKA.prompt, first.session)


def share(agent: Agent) -> None:
    """Let two processes go on with the same session in turn."""
    agent.model.say(LOGGER.answer)
    first = agent.run(LOGGER.prompt)
    with agent.session(resume=first.session) as here, agent.session(resume=first.session) as there:
        exchange(here, KAFKA)
        exchange(there, DOCUMENTED)
        exchange(here, TRANSLATED)
        exchange(there, NATS)
        here.quit()
        there.quit()


def kill(agent: Agent) -> None:
    with agent.session() as session:
        exchange(session, LOGGER)
        work(agent, session, "Deploy it")
        session.kill()


CONVERSATIONS: dict[str, Callable[[Agent], None]] = {
    "interrupted": interrupt,
    "interrupted early": interrupt_early,
    "failed": fail,
    "limited": reach_the_limit,
    "rewound": rewind,
    "rewound twice": rewind_twice,
    "queued": queue,
    "compacted": compact,
    "resumed": resume,
    "forked": fork,
    "shared": share,
    "killed": kill,
}
WITHOUT = {
    ("gemini", "forked"),
    ("codex", "shared"),  # "This conversation is open in another app", since 0.171
}
"""What a CLI cannot do."""
