"""The best that any classifier could do, from soft labels."""
