"""Checks of recorded claims: each returns `Passed`, `Failed(why)` or `Unknown(why)` within a time budget.

Each check method has a module with one function `check(spec, world)`, listed in `runner.PROBES`. A check that could not
be made is `Unknown`, never `Passed`. `World` has everything from outside that a check may use.
"""
