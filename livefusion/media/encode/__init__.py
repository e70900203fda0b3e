"""From NV12 frames to packets."""
