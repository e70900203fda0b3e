"""A simulated device whose memory is not the host's, with the operators of the CPU."""

from livefusion.testing.simdevice import SimDevice


class ApartDevice(SimDevice):
    """Results have to be copied to the host, as on a GPU; nothing has to be compiled."""

    @property
    def shares_host_memory(self) -> bool:
        """False."""
        return False
