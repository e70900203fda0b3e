"""The steps of `tools/build_kernels.py`: compile for every architecture, measure, compare with the budget."""
