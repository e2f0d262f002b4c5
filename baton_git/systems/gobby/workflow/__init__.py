"""Workflows in YAML, as Gobby's documents have them: triggers → conditions → actions."""
