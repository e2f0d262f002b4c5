"""The real CLIs of the three agents, offline, with models that give scripted answers.

Only `package.json` beside this file has the versions of the CLIs, and of the Node that runs them. To run the group:

    mkdir DIR && cp tests/agent_clis/package.json DIR && npm install --prefix DIR
    BATON_AGENT_CLIS=DIR pytest -m agents

Needs tmux and npm. The CLIs run with the Node in DIR, as Claude Code needs a newer one than many systems have. A CLI
that DIR does not have is skipped, "not installed here"; CI does not accept that.
Nothing leaves the machine: each CLI has a home of its own, and its model is `model_server` on loopback.
"""
