"""The real CLIs of the three agents, offline, with models that give scripted answers.

Only `package.json` beside this file has the versions of the CLIs. To run the group:

    mkdir DIR && cp tests/agent_clis/package.json DIR && npm install --prefix DIR
    BATON_AGENT_CLIS=DIR pytest -m agents

Needs Node 20 or newer and tmux. A CLI that DIR does not have is skipped, "not installed here"; CI does not accept that.
Nothing leaves the machine: each CLI has a home of its own, and its model is `model_server` on loopback.
"""
