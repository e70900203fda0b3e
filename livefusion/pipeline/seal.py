"""What a run writes beside its pictures, and the signature of a recording that is finished."""

import logging
import queue
import threading
from pathlib import Path

from livefusion.core.errors import LiveFusionError
from livefusion.media.formats import OutputLabel
from livefusion.provenance.certificate import load_certificate
from livefusion.provenance.keys import OperatorKey
from livefusion.provenance.label import content_id, file_tags, stream_notice, xmp_packet
from livefusion.provenance.manifest import EMBEDDING, SIGNED_SUFFIXES, can_sign, sign_file
from livefusion.provenance.watermark import Watermark
from livefusion.provenance.xmp import append_xmp, read_xmp

_log = logging.getLogger(__name__)


class Sealer:
    """Labels the outputs of a run, and seals its recordings on a thread of its own: it reads all of each.

    ``close`` waits for those that are not sealed yet.
    """

    def __init__(self, mark: Watermark) -> None:
        self._mark = mark
        self._finished: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def label(self) -> OutputLabel:
        """What the outputs say."""
        return OutputLabel(stream_notice(self._mark), file_tags(self._mark), self._seal_later)

    def close(self) -> None:
        """Wait until every recording that is finished is sealed."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._finished.put(None)
            thread.join()

    def _seal_later(self, path: Path) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="seal", daemon=True)
                self._thread.start()
            self._finished.put(path)

    def _work(self) -> None:
        while (path := self._finished.get()) is not None:
            try:
                seal(path, content_id(self._mark))
            except LiveFusionError as error:
                _log.warning("%s is not signed: %s", path.name, error)


def seal(path: Path, run: str) -> bool:
    """Complete the metadata of a recording and sign it; whether it could be signed here.

    Another kind of file than ``SIGNED_SUFFIXES``, or any without c2pa-python, keeps the metadata that it was
    written with. Raises ``MachineError``, ``ProvenanceError``, ``IdentityError`` or ``OutputError`` if it
    should have been signed and was not.
    """
    suffix = path.suffix.lower()
    if suffix not in SIGNED_SUFFIXES:
        return False
    if suffix == EMBEDDING and read_xmp(path) is None:
        append_xmp(path, xmp_packet())
    if not can_sign():
        return False
    sign_file(path, load_certificate(OperatorKey.load().id), run)
    return True
