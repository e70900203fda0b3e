"""The way to a stream: a call to a server, or an open door."""

from typing import Protocol

from livefusion.media.network.address import StreamAddress
from livefusion.media.network.connection import Connection
from livefusion.media.network.porch import Porch


class Line(Protocol):
    """Gives one connection after the other. ``close`` may come from any thread."""

    def connect(self) -> Connection | None:
        """The next connection, waiting for it; None once closed. ``InputError`` if it fails."""
        ...

    def hang_up(self) -> None:
        """The connection is over."""
        ...

    def close(self) -> None:
        """End the wait, now and ever after."""
        ...


def open_line(address: StreamAddress) -> Line:
    """The line of an address. ``DriverError`` if the port to listen on is taken."""
    if address.scheme == "srt":
        from livefusion.media.network.srt import SrtLine

        return SrtLine(address)
    if address.listens and address.scheme == "rtmp":
        return DoorLine(address)
    return CallLine(address)


class CallLine:
    """Calls a server, or opens the port that datagrams are sent to."""

    def __init__(self, address: StreamAddress) -> None:
        self._address = address
        self._closed = False

    def connect(self) -> Connection | None:
        """Call."""
        return None if self._closed else Connection(self._address, self._address.url)

    def hang_up(self) -> None:
        """Do nothing: the connection closes itself."""

    def close(self) -> None:
        """Call no more; one that is under way runs out of time."""
        self._closed = True


class DoorLine:
    """Waits for publishers."""

    def __init__(self, address: StreamAddress) -> None:
        self._address = address
        self._porch = Porch(address)

    def connect(self) -> Connection | None:
        """Wait for the next publisher, who then has some seconds to send a picture."""
        url = self._porch.admit()
        return None if url is None else Connection(self._address, url)

    def hang_up(self) -> None:
        """Send the publisher away."""
        self._porch.dismiss()

    def close(self) -> None:
        """Close the door."""
        self._porch.close()
