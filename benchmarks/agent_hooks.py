"""Time the hooks of agents as whole processes against `python -c pass`, the save of a long session, and session starts
in a long history of the code.

Also time `claude -p` with and without the hooks, if `BATON_AGENT_CLIS` names the folder in which npm installed it.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from measuring import missed, report, time_alternately

from baton_git.agents.settings.entries import make_hook_line

ROUNDS = 15
CLAUDE_ROUNDS = 7
SESSION = "0f0e1c1a-5a0b-4c3d-9e8f-000000000001"
MEGABYTES = 30
COMMITS, FEW, FILES = 100_000, 1_000, 300
"""Numbers of commits of a long and of a short history of the project's code, and of the files in it."""


class World:
    """A repository with a namespace, a home with a transcript, and a session that its hooks know."""

    def __init__(self, place: Path) -> None:
        self.repo, self.bare = place / "project", place / "other"
        self.environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(place)}
        for folder in (self.repo, self.bare):
            subprocess.run(["git", "init", "-q", str(folder)], check=True)
        self.run(["baton", "init"], self.repo)
        self.transcript = place / ".claude" / "projects" / "p" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)

    def run(self, argv: list[str], folder: Path, given: str = "") -> bytes:
        return subprocess.run(
            argv, cwd=folder, env=self.environment, input=given.encode(), capture_output=True, check=True
        ).stdout

    def hook(self, event: str, folder: Path | None = None, agent: str = "claude", **more: object) -> bytes:
        folder = folder or self.repo
        event_data = {"session_id": SESSION, "transcript_path": str(self.transcript), "cwd": str(folder)}
        argv = ["sh", "-c", make_hook_line(agent, ["baton"])(9.5)]
        return self.run(argv, folder, json.dumps({**event_data, "hook_event_name": event, **more}))

    def record(self, number: int, kind: str, content: object) -> str:
        message = {"role": kind, "content": content}
        entry = {"type": kind, "uuid": f"u{number}", "sessionId": SESSION, "cwd": str(self.repo), "message": message}
        return json.dumps({**entry, "timestamp": "2026-11-01T10:00:00.000Z", "version": "2.1.329"}) + "\n"

    def grow(self, size: int) -> None:
        """Append tool calls and their outputs until the transcript has `size` bytes."""
        with self.transcript.open("a", encoding="utf-8") as file:
            number = 0
            while file.tell() < size:
                number += 1
                call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"make {number}"}}
                output = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "line of output\n" * 300}
                file.write(self.record(2 * number, "assistant", [call]) + self.record(2 * number + 1, "user", [output]))


def cpu_seconds(work: object) -> float:
    """Return the processor time of the processes that `work` runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()  # type: ignore[operator]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_idle(world: World) -> None:
    """Time the hooks that find nothing to do."""
    gemini = {"agent": "gemini", "trigger": "auto"}
    world.hook("SessionStart", agent="gemini", source="startup")
    world.hook("SessionStart", source="startup")
    world.hook("UserPromptSubmit", prompt="go on")
    world.hook("Stop")
    works = {
        "python -c pass": lambda: world.run([sys.executable, "-c", "pass"], world.repo),
        "a repository without a namespace": lambda: world.hook("SessionStart", world.bare, source="startup"),
        "a subagent's event": lambda: world.hook("Stop", agent_id="a1"),
        "a prompt, with no context to inject": lambda: world.hook("UserPromptSubmit", prompt="go on"),
        "Gemini's PreCompress": lambda: world.hook("PreCompress", **gemini),
        "a stop without new facts": lambda: world.hook("Stop"),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            times[name].append(cpu_seconds(work))
    peer = min(times.pop("python -c pass"))
    print(f"python -c pass: {peer * 1e3:.0f} ms of processor time (the minimum of {ROUNDS} runs)")
    for name, seconds in times.items():
        report(name, min(seconds) / peer, 4.0)


def measure_work(world: World) -> None:
    """Time the hooks that have something to do, over many short sessions."""
    goals = {"SessionStart": 25.0, "Stop": 12.0, "SessionEnd": 40.0}
    more = {"source": "startup", "last_assistant_message": "It builds.", "reason": "other"}
    times: dict[str, list[float]] = {name: [] for name in ("python -c pass", *goals)}
    for number in range(ROUNDS):
        times["python -c pass"].append(cpu_seconds(lambda: world.run([sys.executable, "-c", "pass"], world.repo)))
        for event in goals:
            with world.transcript.open("a", encoding="utf-8") as file:
                file.write(world.record(10_000 + number, "user", f"{event}, number {number}"))
            hook = partial(world.hook, event, session_id=f"{SESSION[:-2]}{number + 10}", **more)
            times[event].append(cpu_seconds(hook))
    peer = statistics.median(times["python -c pass"])
    for event, goal in goals.items():
        report(f"{event} with something new (median)", statistics.median(times[event]) / peer, goal)


def measure_saves(world: World) -> None:
    """Time the first save of a long session, and the save after one more turn."""
    world.grow(MEGABYTES << 20)
    for what, event in (("first save", "PreCompact"), ("save at the end, nothing new", "SessionEnd")):
        started = time.perf_counter()
        world.hook(event, reason="other")
        report(f"{what} of {MEGABYTES} MB", time.perf_counter() - started, 1.0, " s")
    world.grow(world.transcript.stat().st_size + (64 << 10))
    started = time.perf_counter()
    world.hook("PreCompact", trigger="manual")
    report("save of one more turn", time.perf_counter() - started, 1.0, " s")


def measure_history(place: Path) -> None:
    """Time a start that lists the files that changed together, in a short and a long history of the code."""
    works = {}
    for commits in (FEW, COMMITS):
        folder = place / str(commits)
        folder.mkdir()
        world = World(folder)
        import_code(world, commits)
        world.hook("SessionStart", source="startup")
        edit = {"file_path": str(world.repo / "src/f0.py"), "old_string": "x", "new_string": "y"}
        world.transcript.write_text(
            world.record(0, "user", "Make it build")
            + world.record(1, "assistant", [{"type": "tool_use", "id": "t1", "name": "Edit", "input": edit}])
            + world.record(2, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}])
        )
        world.hook("SessionEnd", reason="other")
        assert b"in the same commits" in world.hook("SessionStart", session_id=f"{SESSION[:-1]}2", source="startup")
        works[commits] = world
    starts = {"at a new HEAD": True, "at the same HEAD": False}
    times: dict[tuple[int, str], list[float]] = {(commits, start): [] for commits in works for start in starts}
    for number in range(ROUNDS):
        for (commits, start), spent in times.items():
            if starts[start]:
                (works[commits].repo / ".git/baton/recent-changes.json").unlink(missing_ok=True)
            session = f"{SESSION[:-4]}{number:02}{len(spent) % 10}{'ab'[starts[start]]}"
            hook = partial(works[commits].hook, "SessionStart", session_id=session, source="startup")
            spent.append(cpu_seconds(hook))
    median = {key: statistics.median(spent) for key, spent in times.items()}
    for start in starts:
        ratio = median[COMMITS, start] / median[FEW, start]
        report(f"SessionStart {start}, after {COMMITS:,} commits against {FEW:,}", ratio, 1.2)
    ratio = median[COMMITS, "at a new HEAD"] / median[COMMITS, "at the same HEAD"]
    report("  a new HEAD against the same one", ratio, 1.3)


def import_code(world: World, commits: int) -> None:
    """Add commits of three files each to the project."""
    stream = []
    for number in range(commits):
        stream.append(f"commit refs/heads/main\ncommitter c <c@x> {1_600_000_000 + 600 * number} +0000\ndata 1\nx\n")
        files = {number % FILES, (number + 1) % FILES, number * 7 % FILES} if number else range(FILES)
        stream += [f"M 100644 inline src/f{file}.py\ndata {len(str(number))}\n{number}\n" for file in files]
    world.run(["git", "fast-import", "--quiet"], world.repo, "".join(stream))
    world.run(["git", "symbolic-ref", "HEAD", "refs/heads/main"], world.repo)
    world.run(["git", "reset", "-q", "--hard"], world.repo)


def measure_claude() -> None:
    """Time `claude -p` with and without the hooks; a model on loopback answers immediately."""
    folder = Path(os.environ.get("BATON_AGENT_CLIS", "/nonexistent"))
    if not (folder / "node_modules/.bin/claude").exists():
        print("claude -p: not measured, BATON_AGENT_CLIS names no folder with Claude Code")
        return
    sys.path.append(str(Path(__file__).parent.parent / "tests"))
    from agent_clis.agent import Agent
    from agent_clis.clis import ClaudeCode, Place
    from agent_clis.model_server import serving

    cli, baton = ClaudeCode(), str(Path(sys.executable).with_name("baton"))
    with tempfile.TemporaryDirectory() as place, serving(cli.wire) as model:
        agents = []
        for name in ("without", "with"):
            home, project = Path(place) / name, Path(place) / name / "project"
            subprocess.run(["git", "init", "-q", str(project)], check=True)
            cli.configure(Place(home, project, model.url))
            agents.append(Agent(cli, Place(home, project, model.url), model, folder))
        for words in ("init", "agents install claude --with none"):
            subprocess.run(
                [baton, *words.split()], cwd=agents[1].project, env=agents[1].environment, check=True,
                capture_output=True,
            )  # fmt: skip

        without, hooked = time_alternately(CLAUDE_ROUNDS, *(partial(agent.run, "Say something") for agent in agents))
        print(f"claude -p without hooks: {without:.2f} s (median of {CLAUDE_ROUNDS})")
        report("claude -p with hooks", hooked / without, 1.5)


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        world = World(Path(place))
        world.transcript.write_text(world.record(0, "user", "Make it build"))
        measure_idle(world)
        measure_work(world)
        measure_saves(world)
        measure_history(Path(place))
    measure_claude()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
