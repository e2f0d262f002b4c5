"""The numbers in the rules of `lifecycle`, in a module of their own, so that settings are read without the models."""

from typing import NamedTuple


class Policy(NamedTuple):
    """The parameters of the rules. git config overrides the defaults on a machine: `baton.ttlDays` for `ttl_days`."""

    ttl_days: int = 7
    elevate_at: int = 3
    escalate_at: int = 5
    threshold: int = 3
    max_open_loops: int = 20
    max_follow_ups: int = 30
    max_patterns: int = 50
    max_active_decisions: int = 50
    sessions_kept: int = 50
