"""Gobby: the injection of facts of earlier sessions, workflows, and chains of sessions."""
