"""The library: a namespace as an object, with the verbs as its methods."""
