"""The verb `doctor`: independent checks of an installation, and repairs that can be undone."""
