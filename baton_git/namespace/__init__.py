"""One namespace: its branch as revisions, how it is written, merged, ingested, synced and reviewed."""
