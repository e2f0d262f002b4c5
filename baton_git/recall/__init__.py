"""Answer questions from the records, their history, and the turns of all sessions on this machine, with an index."""
