"""`python -m baton_git` is the command `baton`."""

from baton_git.faces.cli import main

if __name__ == "__main__":
    main()
