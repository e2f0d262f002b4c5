"""The record types, as frozen pydantic models."""
