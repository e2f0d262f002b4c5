"""Codecs between plain data and JSON, TOML and YAML text. Each pair of functions has a round-trip property test."""
