"""The hooks of agent CLIs: an event in, a reply out."""
