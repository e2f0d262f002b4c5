"""Checks of the world: is it so? Each gives `Passed`, `Failed(why)` or `Unknown(why)`, within one time budget.

One module for each method, with one function `check(spec, world)`; the registry lists them. A check that could not be
made is `Unknown`, never `Passed`. What a check may know or do comes in with `World`.
"""
