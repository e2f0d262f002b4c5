"""The operations over HTTP: session-baton's and PAIF's wires, and our own; the web page is served beside them."""
