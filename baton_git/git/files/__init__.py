"""Files that are written whole and reach the disk, and the locks of refs."""
