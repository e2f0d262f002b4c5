"""Where sessions can be seen: one module for each source, each giving ECC's canonical snapshot."""
