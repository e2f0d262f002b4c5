"""What baton can do with a namespace: one module for each family of verbs."""
