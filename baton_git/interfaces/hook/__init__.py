"""The hooks of agent CLIs: each receives an event and returns a reply."""
