"""Damaged inputs for every parser: each must be read or refused with an error of ours, within bounds."""
