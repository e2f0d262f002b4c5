"""Gobby: the facts of a session, their injection into later ones, workflows and chains of sessions."""
