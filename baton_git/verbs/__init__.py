"""The verbs: everything that baton can do with a namespace, with one module for each family of verbs."""
