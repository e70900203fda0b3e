"""Where frames go."""
