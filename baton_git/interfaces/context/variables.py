"""The environment variables that baton reads; `baton help environment` and docs/settings.md are generated from this."""

from __future__ import annotations

from typing import NamedTuple


class Variable(NamedTuple):
    """An environment variable; `option` is the option that overrides it, if any."""

    name: str
    option: str
    description: str


VARIABLES = (
    Variable(
        "BATON_REPO",
        "--repo",
        "all commands: the repository. Default: the one that contains the current folder, or your own store",
    ),
    Variable(
        "GIT_DIR, GIT_WORK_TREE",
        "",
        "all commands, as for git, if neither `--repo` nor `BATON_REPO` names the repository",
    ),
    Variable("BATON_NAMESPACE", "--namespace", "all commands: the namespace"),
    Variable(
        "BATON_SESSION",
        "--session",
        "all commands: the acting session. In `baton handover` and `baton export kairos`, `--session` "
        "names the run instead, and the variable still says who acts",
    ),
    Variable("BATON_AGENT", "--agent", "all commands: the acting agent"),
    Variable("BATON_HOST, BATON_PORT", "--host, --port", "`baton serve`: where it listens"),
    Variable(
        "BATON_PUBLISHED",
        "",
        "`baton serve` in a container: how its port is published, as below `ports` in `compose.yaml`, such as "
        "`127.0.0.1:9101:9101`. Only on loopback does it need no token",
    ),
    Variable(
        "BATON_DB_PATH",
        "",
        "session-baton's server only: the path of its database. baton stores its state in git instead; "
        '`baton import session-baton "$BATON_DB_PATH" --all` imports the database, and `baton serve` '
        "points this out",
    ),
    Variable(
        "BATON_API_TOKEN",
        "",
        "`baton serve`, `baton mcp --http`, `baton cache`, `baton boot` for what waits in its cache: the token",
    ),
    Variable("BATON_PAGE_TOKEN", "", "`baton serve`: the token with which a person logs in to the page"),
    Variable(
        "BATON_PAGER",
        "",
        "the pager for long output on a terminal; empty or `cat` for none. Default: `GIT_PAGER`, your own"
        " `core.pager` of git, `PAGER`, or `less`",
    ),
    Variable("NO_COLOR", "", "if set, output has no styles"),
    Variable("BATON_URL", "--url", "`baton cache`, and `baton boot` for what waits in its cache: the server"),
    Variable("XDG_DATA_HOME", "", "the folder of your own store and the approvals"),
    Variable("XDG_CONFIG_HOME", "", "the folder of your settings files and workflows"),
)
