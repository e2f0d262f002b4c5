"""ECC: one canonical snapshot format for the sessions of any agent."""

from baton_git.core.kinds import load_from
from baton_git.systems.seed_system import ForeignDocument, SeedSystem

SYSTEM = SeedSystem(
    "ecc",
    kinds=("snapshot",),
    documents=(
        ForeignDocument(
            "ecc_session",
            load_from("systems.ecc.record", "CanonicalSession"),
            load_from("systems.ecc.adapters.canonical", "parse_snapshot"),
        ),
    ),
)
