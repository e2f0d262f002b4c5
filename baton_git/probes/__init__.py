"""Checks of the world: each gives `Passed`, `Failed(why)` or `Unknown(why)`, all side by side in one budget.

One module per method, each one function `check(spec, world)`; `all_probes.PROBES` lists them. A check that
could not be made is `Unknown`, never `Passed`, and what a probe may know or do comes in with `World`.
"""

from baton_git.probes.all_probes import PROBES
from baton_git.probes.checks import CheckSpec, World
from baton_git.probes.outcome import Failed, NotApproved, Outcome, Passed, Unknown
from baton_git.probes.running import Checked, run_all

__all__ = [
    "PROBES",
    "CheckSpec",
    "Checked",
    "Failed",
    "NotApproved",
    "Outcome",
    "Passed",
    "Unknown",
    "World",
    "run_all",
]
