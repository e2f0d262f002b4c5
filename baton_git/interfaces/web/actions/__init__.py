"""The pages with forms that change something."""
