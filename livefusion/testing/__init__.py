"""Fakes and stand-ins, for our tests and for yours."""
