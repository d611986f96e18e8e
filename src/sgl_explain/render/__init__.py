"""Forms an explanation can take: one file a form; none knows another."""
