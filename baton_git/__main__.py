"""`python -m baton_git` is the command `baton`; and what the command starts with.

Hooks of agents come at every turn and mostly find nothing to do: they must not pay for what commands need.
"""

import sys


def main() -> None:
    """The entry point of the command."""
    if sys.argv[1:2] == ["hook"]:
        from baton_git.interfaces.hook.command import main as hook  # loads the standard library, and no more

        sys.exit(hook(sys.argv[2:]))
    from baton_git.interfaces.cli import main as command  # loads click

    command()


if __name__ == "__main__":
    main()
