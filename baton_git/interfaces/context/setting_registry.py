"""The environment variables that baton reads, and the settings in git's configuration, one entry each.

A setting is read and validated by its entry. The texts of `baton help environment` and `baton help configuration`, and
the tables of docs/settings.md, are generated from the entries.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any, NamedTuple

from baton_git.core.policy import Policy
from baton_git.namespace.ingest.budget import LIMIT_SETTINGS, MOST_RAISED, Limits


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


# --- settings

PREFIX = "refs/heads/baton/"

MOST = 1_000_000
"""Maximum of a numeric setting."""

_ON, _OFF = ("true", "yes", "on", "1"), ("false", "no", "off", "0", "")


class SettingType(NamedTuple):
    """The type of a setting.

    Attributes:
        parse: returns the value of a text; raises ValueError if the text is not allowed.
        allowed: the allowed values, in words; empty for free text.
    """

    parse: Callable[[str], Any]
    allowed: str = ""


def _parse_flag(text: str) -> bool:
    return (_ON + _OFF).index(text.lower()) < len(_ON)


def _parse_autosync(text: str) -> str:
    return "receive" if text.lower() == "receive" else str(_parse_flag(text)).lower()


def _parse_number(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and 1 <= int(text) <= MOST):
        raise ValueError(text)
    return int(text)


def _parse_limit(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and 1 <= int(text) <= MOST_RAISED):
        raise ValueError(text)
    return int(text)


def _parse_prefix(text: str) -> str:
    if not re.fullmatch(r"refs/(?:[A-Za-z0-9_-]+/)+", text):
        raise ValueError(text)
    return text


TEXT = SettingType(str)
FLAG = SettingType(_parse_flag, "true or false")
AUTOSYNC = SettingType(_parse_autosync, "true, false or receive")
NUMBER = SettingType(_parse_number, f"a whole number from 1 to {MOST}")
PREFIXES = SettingType(_parse_prefix, "a folder of refs such as refs/baton/")
LIMIT = SettingType(_parse_limit, f"a whole number from 1 to {MOST_RAISED}")
NAMES = SettingType(lambda text: [name.strip() for name in text.split(",") if name.strip()])
WORDS = SettingType(lambda text: tuple(shlex.split(text)))


_OFF_VALUES = {FLAG: False, AUTOSYNC: "false"}


class Setting(NamedTuple):
    """A setting in git's configuration.

    Attributes:
        default: the text of the default value.
        description: the effect, on one line without a full stop.
        default_note: the default in words, if it depends on something.
        page: where the documentation says more.
    """

    key: str
    type: SettingType
    default: str
    description: str
    default_note: str = ""
    page: str = ""

    @property
    def shown_default(self) -> str:
        return self.default_note or self.default

    @property
    def default_value(self) -> Any:
        return self.type.parse(self.default)

    @property
    def fallback(self) -> Any:
        """The value that replaces an invalid one: off for a flag and for `baton.autosync`, whatever its default is."""
        return _OFF_VALUES.get(self.type, self.default_value)


def _number(key: str, description: str) -> Setting:
    """Return the entry of a number of `Policy`."""
    return Setting(f"baton.{key}", NUMBER, str(Policy._field_defaults[_policy_field(key)]), description)


def _policy_field(key: str) -> str:
    return re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", key)


def _limit(field: str, description: str) -> Setting:
    """Return the entry of one of `Limits`."""
    default = str(Limits._field_defaults[field])
    return Setting(f"baton.{LIMIT_SETTINGS[field]}", LIMIT, default, description, page="sharing.md#limits")


_SETTINGS = (
    Setting(
        "baton.namespace",
        TEXT,
        "",
        "the namespace of this repository",
        default_note="name of the folder",
        page="records.md#which-namespace",
    ),
    Setting("baton.refPrefix", PREFIXES, PREFIX, "where the branches are; `refs/baton/` hides them from branch lists"),
    _number("ttlDays", "days until a new open loop is escalated"),
    _number("elevateAt", "number of deferrals at which a follow-up is elevated"),
    _number("escalateAt", "number of deferrals at which a follow-up is escalated"),
    _number("threshold", "number of occurrences at which a new pattern becomes a rule candidate"),
    _number("maxOpenLoops", "maximum number of open loops in the brief"),
    _number("maxFollowUps", "maximum number of follow-ups in the brief"),
    _number("maxPatterns", "maximum number of patterns in the brief"),
    _number("maxActiveDecisions", "maximum number of decisions in the brief"),
    _number("sessionsKept", "number of newest sessions that are not archived"),
    Setting(
        "baton.foldArchive",
        FLAG,
        "true",
        "whether archived records are moved into bundles when they are many; false while teammates use a version of "
        "baton that does not know layout 2",
        page="maintenance.md#the-archive",
    ),
    Setting(
        "baton.shareTurns",
        FLAG,
        "false",
        "whether the turns of sessions (prompts and answers, without secrets) are committed for other "
        "machines, or stay on this one",
    ),
    Setting(
        "baton.machine",
        TEXT,
        "",
        "the name of this machine in records and commits, usually set with `--global`",
        default_note="`machine-` and six characters, from which the host name cannot be read",
        page="sharing.md#what-leaves-the-machine",
    ),
    Setting("baton.allowPrivateHosts", FLAG, "false", "whether checks may contact private networks", page="checks.md"),
    Setting(
        "baton.handoverFile",
        TEXT,
        "",
        "where `baton handover` keeps a copy of the run, relative to the work tree",
        page="systems/kairos.md",
    ),
    Setting(
        "baton.remote",
        TEXT,
        "",
        "the remote that `sync`, `boot` and `wrap` use",
        default_note="`origin`, or the only one, or the only one that it was synced with",
    ),
    Setting(
        "baton.recallAtPrompt",
        FLAG,
        "true",
        "whether hooks add quotes of earlier sessions to a prompt, if they help with it",
        page="recall.md#at-the-prompt",
    ),
    Setting(
        "baton.recordSnapshots",
        FLAG,
        "false",
        "whether `baton session inspect` records each snapshot that it shows",
        page="systems/ecc.md",
    ),
    Setting(
        "baton.autosync",
        AUTOSYNC,
        "true",
        "whether sessions receive at their start and send after their end automatically; `receive`: they only receive",
        page="sharing.md#what-travels-when",
    ),
    Setting(
        "baton.sessionsFromAbove",
        FLAG,
        "false",
        "whether a session that was started in a folder above this repository is stored here with its prompts and"
        " answers, and not only with the files and commits of this repository",
        page="agents.md#above-several-repositories",
    ),
    Setting(
        "baton.pushAtEnd",
        FLAG,
        "false",
        "whether the hook at a session's end sends within the time that the agent CLI gives it, for containers in which"
        " nothing runs afterwards",
        page="agents.md#in-a-container",
    ),
    _limit("new_files", "maximum number of new files in one fetch or push, for each machine"),
    _limit("new_commits", "maximum number of new commits in one fetch or push, for each machine"),
    _limit("new_megabytes", "maximum size of one fetch in megabytes"),
    _limit("live_records", "maximum number of records outside the archive that a fetch or push may lead to"),
    _limit("check_seconds", "maximum number of seconds for checking one fetch or push"),
    Setting(
        "remote.<name>.batonPolicy",
        TEXT,
        "auto",
        "how commits of that remote are accepted: `auto`, `review` or `signed`",
        page="sharing.md#review",
    ),
    Setting(
        "remote.<name>.batonLanes",
        FLAG,
        "false",
        "whether this machine also sends to a ref of its own there when others push at the same time",
        page="sharing.md#many-machines-at-once",
    ),
    Setting(
        "baton.allowedSigners",
        TEXT,
        "",
        "file of the SSH keys whose signatures count, like git's `gpg.ssh.allowedSignersFile`, which vouches if this "
        "one is not set; graduations from elsewhere then need a signature",
    ),
    Setting("baton.signingKey", TEXT, "", "SSH key that signs this machine's commits, like git's `user.signingKey`"),
    Setting(
        "baton.allowRewrite",
        FLAG,
        "false",
        "on a server with the hooks: whether a push may rewrite or delete a baton branch",
        page="git-hooks.md#on-a-server",
    ),
    Setting(
        "baton.enabledWorkflows",
        NAMES,
        "",
        "the enabled workflows, separated by commas; `baton workflow enable` writes them",
    ),
    Setting(
        "baton.disabledWorkflows",
        NAMES,
        "",
        "the disabled workflows, separated by commas; `baton workflow disable` writes them",
    ),
    Setting(
        "baton.claudeArguments",
        WORDS,
        "",
        "options with which `loop-run` and workflows start Claude Code",
        page="workflows.md",
    ),
    Setting("baton.codexArguments", WORDS, "", "options with which `loop-run` and workflows start Codex"),
    Setting("baton.geminiArguments", WORDS, "", "options with which `loop-run` and workflows start Gemini CLI"),
    Setting("baton.notifyCommand", WORDS, "", "the command of a workflow's notifications"),
    Setting(
        "baton.url",
        TEXT,
        "",
        "the server of `baton cache`; read only from your own configuration (`--global`), since the token"
        " is sent there",
        page="systems/session-baton.md#remote-servers-and-their-cache",
    ),
)

SETTINGS = {setting.key: setting for setting in _SETTINGS}
"""The settings by their key, in the order of the documentation."""

POLICY_KEYS = {
    _policy_field(entry.key.removeprefix("baton.")): entry.key for entry in _SETTINGS if entry.type is NUMBER
}
"""The keys of the numbers in `Policy`, by field."""

CHECKED = tuple(key for key, setting in SETTINGS.items() if setting.type in (FLAG, AUTOSYNC, NUMBER, LIMIT, PREFIXES))
"""The settings whose invalid values prevent writes."""
