"""KAIROS: protocol runs that another client can resume."""

from baton_git.systems.seed_system import SeedSystem

SYSTEM = SeedSystem("kairos", kinds=("handover",))
