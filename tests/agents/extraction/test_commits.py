"""Which commits a command made, judged by the command and git's output."""

from __future__ import annotations

from looped_cases import for_each

from baton_git.agents.extraction.shell import find_git_work, find_made_commits, is_elsewhere, parse_script

HOME = "/repo"
LINE = "[main 1234abc] Fix it\n 1 file changed"


def find_commits(command: str, output: str = LINE, home: str = HOME) -> list[tuple[str, str]]:
    """Return the hash and the subject of each commit that a command made in the repository of `home`."""
    work = find_git_work(command, home)
    return [
        (commit.hash, commit.subject)
        for commit in find_made_commits(work, output)
        if not is_elsewhere(work, commit.commit_command, home, [])
    ]


HEREDOC = """git add -A && git commit -m "$(cat <<'EOF'
Fix it

Don't "quote" me; git commit -m other
EOF
)" && git push"""


@for_each(
    "command",
    [
        "git commit -m 'Fix it'",
        "git add -A && git commit -am 'Fix it'",
        HEREDOC,
        "git -c user.name=x commit -m 'Fix it'",
        "cd /repo && git commit -m 'Fix it'",
        "cd src && git commit -m 'Fix it'",
        "git -C /repo commit -m 'Fix it'",
        "bash -lc \"git commit -m 'Fix it'\"",
        "(cd /tmp && ls); git commit -m 'Fix it'",
        "GIT_EDITOR=true git commit",
        "git commit --no-edit 2>&1 | tail -3",
        "git cherry-pick abc",
        "if true; then git commit -m x; fi",
        "cd \"$(git rev-parse --show-toplevel)\" && git commit -m 'Fix it'",
        "git commit -F - <<EOF\nFix it\nEOF",
    ],
)
def test_a_commit_in_this_repository_is_found(command):
    assert find_commits(command) == [("1234abc", "Fix it")]


@for_each(
    "command",
    [
        'echo "git commit -m fake"',
        "grep -rn 'git commit' .",
        "git log --grep 'commit'",
        "# git commit -m x",
        "cat <<'EOF'\ngit commit -m x\nEOF",
        "gh pr create --body 'git commit'",
        "git commit-tree abc",
        "git commit --dry-run",
        "cd /tmp/try && git commit -m 'Fix it'",
        "git -C /elsewhere commit -m 'Fix it'",
        "cd ../other && git commit -m x",
        "git --git-dir=/tmp/x/.git commit -m x",
        "mkdir t && cd t && git init && git commit -m x",
        "d=$(mktemp -d); cd $d; git init; git commit -m x",
        "git init try && git -C try commit -m x",
    ],
)
def test_a_mention_of_git_commit_and_a_commit_elsewhere_are_ignored(command):
    assert find_commits(command) == []


@for_each(
    ("command", "output", "commits"),
    [
        ("git commit -q -m Quiet && git rev-parse --short HEAD", "567890d", [("567890d", "Quiet")]),
        ("git commit -qm Quiet; git log --oneline -2", "567890d Quiet\n1111111 Old", [("567890d", "Quiet")]),
        ("git commit -m Quiet > /dev/null", "", [("", "Quiet")]),
        ("git commit -q -m Quiet", "nothing to commit, working tree clean", []),
        ("git commit -m x", "error: pathspec", []),
        ("git commit -m x | tail -1", " 1 file changed, 2 insertions(+)", [("", "x")]),
        (
            "git commit -m a && git commit -m b",
            "[main 1111111] a\n[main 2222222] b",
            [("1111111", "a"), ("2222222", "b")],
        ),
        ("git commit -m x", "[feature/a-b (root-commit) 1234567] x", [("1234567", "x")]),
        ("git commit -m x", "[detached HEAD 1234567] x", [("1234567", "x")]),
    ],
)
def test_the_output_of_git_shows_whether_it_committed(command, output, commits):
    assert find_commits(command, output) == commits


def test_a_commit_in_a_repository_created_by_the_session_is_elsewhere():
    work = find_git_work("cd scratch && git commit -m x", HOME)
    assert is_elsewhere(work, work.commit_commands[0], HOME, ["/repo/scratch"])


def test_a_commit_after_git_init_in_the_session_folder_is_found():
    assert find_commits("git init && git add -A && git commit -m 'Fix it'") == [("1234abc", "Fix it")]


def test_a_script_is_parsed_to_commands_with_their_words_and_folders():
    commands = parse_script("cd a; (cd b && ls 'x y'); cd \"$X\"; ls \\\n -l # no", "/r").commands
    assert [(command.words, command.folder) for command in commands] == [
        (("cd", "a"), "/r"),
        (("cd", "b"), "/r/a"),
        (("ls", "x y"), "/r/a/b"),
        (("cd", "$X"), "/r/a"),
        (("ls", "-l"), None),
    ]
