"""The importers and exporters, on real SQLite files and real folders."""
