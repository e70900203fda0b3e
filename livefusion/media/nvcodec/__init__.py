"""The video decoder and encoder of NVIDIA GPUs, through PyNvVideoCodec."""
