"""Parse input, call a verb, render its result. No other part reads the environment, the home directory or the clock."""
