"""Find the transcripts that their CLI will delete soon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from baton_git.agents.json_lines import read_object
from baton_git.agents.mining.candidates import Candidate
from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError

SOON_DAYS = 7
"""A transcript is reported if it will be deleted within this many days."""
_DAY = 86400


class Expiry(NamedTuple):
    """The number of transcripts that a CLI deletes within `SOON_DAYS`, because it keeps each for `kept_days`."""

    agent: str
    number: int
    kept_days: float
    settings: Path


def find_expiring(
    candidates: Iterable[Candidate], now: datetime, home: Path, environment: Mapping[str, str]
) -> list[Expiry]:
    """Return an entry for each CLI that will delete some of these transcripts soon."""
    ages: dict[str, list[float]] = {}
    for candidate in candidates:
        ages.setdefault(candidate.agent, []).append((now.timestamp() - candidate.mtime_ns / 1e9) / _DAY)
    expiring = []
    for agent, days in ages.items():
        retention = AGENTS[agent].retention
        if retention is None:
            continue
        file = AGENTS[agent].hooks.find_user_folder(home, environment) / retention.file
        kept = _read_days(file, retention.key, retention.days)
        number = sum(age >= kept - SOON_DAYS for age in days)
        if number:
            expiring.append(Expiry(agent, number, kept, file))
    return expiring


def _read_days(file: Path, key: str, default: int) -> float:
    """Return the number of days from the settings file; `default` if the file is unreadable or does not set it."""
    try:
        value = (read_object(file) or {}).get(key)
    except BatonError:
        return default
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else default
