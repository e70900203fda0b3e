"""The checks of ``tools/gpu_check.py``; each module has one ``check`` that gives rows for the sheet."""
