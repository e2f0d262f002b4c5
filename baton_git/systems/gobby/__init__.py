"""Gobby: the facts of a session, their injection into later sessions, workflows, and chains of sessions."""

from baton_git.systems.seed_system import SeedSystem

SYSTEM = SeedSystem("gobby", kinds=("handoff", "turns"), mines=True)
