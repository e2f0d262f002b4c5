"""Workflows in YAML, as in Gobby's document: triggers with conditions and actions."""
