"""Parse input, call a verb, render its result. Only here are the environment, the home directory and the clock read."""
