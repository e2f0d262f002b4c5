"""Fixtures for the tests of spawned sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_agents import Agents


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    (tmp_path / "home").mkdir()
    return Agents(tmp_path / "bin", tmp_path / "home")
