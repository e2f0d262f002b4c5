"""Store the turns of sessions on this machine, limited in size and without secrets. A turn: a prompt and its answer."""

from baton_git.agents.turn_store.bounds import MAX_BYTES, MAX_TEXT, bound_turns, keep_ends
from baton_git.agents.turn_store.store import StoredTurns, TurnStore, turns_folder
from baton_git.agents.turn_store.turn import SessionTurns, Turn

__all__ = [
    "MAX_BYTES",
    "MAX_TEXT",
    "SessionTurns",
    "StoredTurns",
    "Turn",
    "TurnStore",
    "bound_turns",
    "keep_ends",
    "turns_folder",
]
