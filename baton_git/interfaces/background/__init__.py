"""Work of a repository that no command waits for, done by detached processes."""
