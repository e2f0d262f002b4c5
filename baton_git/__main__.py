"""The entry point of the command `baton`, and of `python -m baton_git`.

Agents run `baton hook` at every turn, and mostly it has nothing to do; a server runs `baton hooks run pre-receive` at
every push, and mostly accepts it. So they start without the imports that the other commands need.
"""

import gc
import sys


def main() -> None:
    """Run the command in `sys.argv`. Ctrl-C while it is still being imported ends it with one line, too."""
    try:
        _start()
    except KeyboardInterrupt:
        sys.stderr.write("baton: interrupted; no write is half done\n")
        sys.exit(130)


def _start() -> None:
    if sys.argv[1:2] == ["hook"]:
        from baton_git.interfaces.hook.command import main as hook  # imports no third-party package

        sys.exit(hook(sys.argv[2:]))
    if sys.argv[1:4] == ["hooks", "run", "pre-receive"]:
        gc.disable()  # a tenth of the time of such a short process; the command enables it
        from baton_git.interfaces.context.process import skip_plugin_search

        skip_plugin_search()
        from baton_git.interfaces.hook.push_check import accepts_push  # imports neither click nor verbs

        if accepts_push(sys.argv[4:]):
            sys.exit(0)
        gc.enable()
    from baton_git.interfaces.cli import main as command  # imports click

    command()


if __name__ == "__main__":
    main()
