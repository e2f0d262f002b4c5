"""Sync with a remote: fetch, plan, merge, push. The plan is data before anything runs.

Nothing is ever forced. The remote's last known tip is kept in a private ref, so that a branch that was rewritten or
deleted there is noticed, whatever else fetched in between.
"""
