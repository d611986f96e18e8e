"""Where failures show, and how each place is hooked: one file a place."""
