"""Preprocessing by NVIDIA DALI: whole pictures for detectors, and many aligned crops for files.

The same pipelines run on the GPU and, for tests, on the CPU.
"""
