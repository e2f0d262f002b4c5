"""Programs that baton starts do not get its tokens."""

from __future__ import annotations

import shutil

from baton_git.interfaces.context.process import child_environment

SPY = '#!/bin/sh\nenv | grep TOKEN >> "{log}"\necho ran {name} >> "{log}"\nexec "{real}" "$@"\n'


def test_git_and_checks_get_no_tokens(baton, baton_process, filled, top, tmp_path):
    log = tmp_path / "seen"
    for name in ("git", "true"):
        spy = tmp_path / "bin" / name
        spy.parent.mkdir(exist_ok=True)
        spy.write_text(SPY.format(log=log, name=name, real=shutil.which(name)))
        spy.chmod(0o755)
    baton("loop", "add", "Ran it", "--expect", "it ran", "--verify-command", f"{tmp_path}/bin/true")
    baton("trust", "--yes", "--", f"{tmp_path}/bin/true")
    tokens = {"BATON_API_TOKEN": "t0p-secret", "BATON_PAGE_TOKEN": "pa9e-secret"}
    baton_process("verify", env={**tokens, "PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, code=None)
    seen = log.read_text()
    assert {"ran git", "ran true"} <= set(seen.splitlines())
    assert "TOKEN" not in seen


def test_child_processes_get_the_environment_without_tokens():
    environment = {"HOME": "/home/ada", "BATON_API_TOKEN": "t0p-secret", "BATON_PAGE_TOKEN": "pa9e-secret"}
    assert child_environment(environment) == {"HOME": "/home/ada"}
