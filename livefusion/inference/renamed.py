"""A network under names of ours: exports of one network differ in every name."""

from collections.abc import Mapping

from livefusion.devices.device import Array
from livefusion.inference.binding import Binding
from livefusion.inference.loaded import Lane
from livefusion.inference.session import Session


class Renamed:
    """``session`` whose tensors are called otherwise: ``names`` has what the file calls each of ours.

    Tensors that are not among them are neither given nor asked for.
    """

    def __init__(self, session: Session, names: Mapping[str, str]) -> None:
        self._session = session
        self._names = dict(names)

    @property
    def lane(self) -> Lane | None:
        """The stream on which its runs must be put."""
        return self._session.lane

    def dtype_of(self, tensor: str) -> str:
        """The type of an input or output."""
        return self._session.dtype_of(self._names[tensor])

    def bind(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array] | None = None) -> Binding:
        """Tie the network to fixed buffers."""
        return self._session.bind(self._theirs(inputs), None if outputs is None else self._theirs(outputs))

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """Run once on host arrays; the outputs hold until the next run."""
        found = self._session.run(self._theirs(inputs))
        return {ours: found[theirs] for ours, theirs in self._names.items() if theirs in found}

    def _theirs(self, tensors: Mapping[str, Array]) -> dict[str, Array]:
        return {self._names[name]: array for name, array in tensors.items()}
