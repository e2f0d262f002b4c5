"""The faces: parse input, call an operation, print or serialise, exit. Only here is the world asked."""
