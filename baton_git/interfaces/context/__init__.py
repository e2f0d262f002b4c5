"""Where a face acts and as whom: options, variables, configuration, the home and the clock, alike for every face."""
