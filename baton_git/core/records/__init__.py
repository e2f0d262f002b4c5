"""The records: frozen pydantic models, one module for each source of them."""
