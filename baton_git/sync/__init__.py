"""A namespace on two machines as one: fetch, look at what came, merge, push; what is to be done is data before it runs.

Nothing is ever forced. What a remote had when we last agreed with it is kept as a private ref, so that a branch which
was rewritten or deleted there is noticed, whatever else fetched meanwhile.
"""

from baton_git.sync.actions import Action, count
from baton_git.sync.places import known_remotes, places_of
from baton_git.sync.running import Outcome, synchronise
from baton_git.sync.terms import Settle, Terms, policy_of
from baton_git.sync.waiting import Decided, Item, Waiting, is_waiting, resolve, waiting

__all__ = [
    "Action", "Decided", "Item", "Outcome", "Settle", "Terms", "Waiting", "count", "is_waiting", "known_remotes",
    "places_of", "policy_of", "resolve", "synchronise", "waiting",
]  # fmt: skip
