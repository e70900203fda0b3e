"""Saying that the picture was altered, and whose face was lent to it."""
