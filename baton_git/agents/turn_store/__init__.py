"""Store the turns of sessions (prompts with their final answers) on this machine, with a size limit and no secrets."""

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
