"""Answer questions from the records, their history and the turns of all sessions, by a local index."""
