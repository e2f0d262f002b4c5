"""The page for the person who wants to see what the agents did, and decide: server-rendered, nothing from elsewhere."""
