"""Record ↔ text, and nothing else; every pair has a round-trip property test."""
