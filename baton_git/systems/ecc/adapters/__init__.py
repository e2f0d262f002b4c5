"""The adapters: one module for each source of sessions, which converts them to ECC's canonical snapshot."""
