"""Install, upgrade, inspect and remove git hooks, together with existing hooks of other tools.

The hooks are made of the shell scripts in the top-level folder `hooks/git/`, which find out without starting a program
whether baton has anything to do. No function of baton depends on the hooks alone.

This module imports nothing, so that `shipped` can be imported quickly, without the other modules.
"""
