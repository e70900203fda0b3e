"""The operators on CUDA: parameters are worked out on the host, pixels in ``devices/kernels``.

A body takes a ``Launcher`` and then the operator's own arguments.
"""
