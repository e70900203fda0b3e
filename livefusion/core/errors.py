"""Every error the product raises, in one tree.

::

    LiveFusionError
    ├── RequestError            exit 2: the request is wrong
    │   ├── SettingsError           a flag, a TOML key or a value
    │   ├── InputError              a source that cannot be opened, read or understood
    │   ├── OutputError             a sink that cannot be opened or written
    │   ├── IdentityError           a source photo or persona that cannot be used
    │   └── ProvenanceError         a key, signature or log that is not what it should be
    ├── MachineError            exit 3: this machine cannot do it
    │   ├── DeviceError             no such device, driver or provider
    │   │   ├── OutOfMemoryError
    │   │   └── DeviceLostError
    │   ├── ModelError              a model file that is missing, damaged or foreign
    │   └── DriverError             a camera, a virtual camera or a port that the system refuses
    ├── SafetyStopError              exit 4: the safety policy ended the run
    └── GraphError              exit 1: a fault of our own inside the running graph

Foreign exceptions are translated where they enter (``raise … from``). The text of an error is one line:
what is wrong, then what to do about it.
"""

from typing import ClassVar


class LiveFusionError(Exception):
    """Base of the tree: one line of what is wrong, and optionally the remedy."""

    exit_status: ClassVar[int] = 1

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}: {remedy}" if remedy else problem)


class RequestError(LiveFusionError):
    """The request is wrong; the user can change it."""

    exit_status = 2


class SettingsError(RequestError):
    """A flag, a configuration key or a value is not valid."""


class InputError(RequestError):
    """A source cannot be opened, read or understood."""


class OutputError(RequestError):
    """A sink cannot be opened or written."""


class IdentityError(RequestError):
    """A source photo, persona or identity cannot be used."""


class ProvenanceError(RequestError):
    """A key, a signature, a mark or an audit log is not what it should be."""


class MachineError(LiveFusionError):
    """The machine lacks what the request needs."""

    exit_status = 3


class DeviceError(MachineError):
    """No such device, driver or execution provider."""


class OutOfMemoryError(DeviceError):
    """The device has no memory left for an allocation."""


class DeviceLostError(DeviceError):
    """The device stopped answering while in use."""


class ModelError(MachineError):
    """A model file is missing, damaged or not what its entry says."""


class DriverError(MachineError):
    """The system refuses a camera, a virtual camera or a port."""


class SafetyStopError(LiveFusionError):
    """The safety policy ended the run."""

    exit_status = 4


class GraphError(LiveFusionError):
    """A fault of our own inside the running graph."""
