"""Sessions of agents that go on by themselves: started, looked after, recorded, ended; as wholes, and within limits."""
