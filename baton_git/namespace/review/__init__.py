"""Review of fetched changes by a person."""
