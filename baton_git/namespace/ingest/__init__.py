"""The way in for commits from elsewhere: check them before anything merges them or moves a ref to them."""
