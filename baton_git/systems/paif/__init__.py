"""PAIF: checkpoints, identities and restores."""

from baton_git.systems.seed_system import SeedSystem

SYSTEM = SeedSystem("paif", kinds=("checkpoint", "identity"), has_session_hooks=True)
