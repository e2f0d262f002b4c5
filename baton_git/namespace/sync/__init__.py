"""Sync with a remote: fetch, plan, merge, push. All actions are planned before anything is merged or pushed.

Pushes are never forced. The last known tip of the remote branch is stored in a private ref, so a sync notices if the
branch was rewritten or deleted on the remote, even if other programs have fetched in the meantime.
"""
