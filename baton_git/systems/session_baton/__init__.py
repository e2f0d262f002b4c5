"""session-baton: its document, the cache of its clients, and its storage formats."""

from baton_git.core.kinds import load_from
from baton_git.systems.seed_system import ForeignDocument, SeedSystem

SYSTEM = SeedSystem(
    "session_baton",
    kinds=("open_loop", "follow_up", "pattern", "active_decision"),
    has_sections=False,  # the brief's own module makes the sections of these kinds
    documents=(
        ForeignDocument(
            "baton",
            load_from("core.records.work_items", "Baton"),
            load_from("systems.session_baton.document", "parse_document"),
            load_from("systems.session_baton.document", "to_document"),
        ),
    ),
)
