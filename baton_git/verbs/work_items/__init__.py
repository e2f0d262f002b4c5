"""Loops, follow-ups, patterns and decisions, and what they are about."""
