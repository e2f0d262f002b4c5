"""The entry point of the command `baton`, and of `python -m baton_git`.

Agents run `baton hook` at every turn, and mostly it has nothing to do. So it starts without the imports that the other
commands need.
"""

import sys


def main() -> None:
    """Run the command in `sys.argv`."""
    if sys.argv[1:2] == ["hook"]:
        from baton_git.interfaces.hook.command import main as hook  # imports no third-party package

        sys.exit(hook(sys.argv[2:]))
    from baton_git.interfaces.cli import main as command  # imports click

    command()


if __name__ == "__main__":
    main()
