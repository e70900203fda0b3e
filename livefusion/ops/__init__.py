"""Pixel operators: one name, one contract, one body for each kind of device."""
