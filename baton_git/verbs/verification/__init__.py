"""Checks: running them, their results, and who allowed them."""
