"""The rules of PAIF's session protocol: what a checkpoint holds and where it stands, how an identity grows, and what an
agent must know when it is restored. Pure; the clock is an argument."""
