"""From packets and foreign pictures to NV12 frames."""
