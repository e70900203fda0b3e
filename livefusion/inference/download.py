"""A large file from one of several addresses, as often cut off as need be, and never a wrong one.

Of the standard library: one GET at a time needs no more, ``--extra cpu`` stays as small as it is, and urllib
knows the system's certificates and the proxies of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Its openers for files
and FTP are left out: an address is one of the web.
"""

import hashlib
import http.client
import logging
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

from livefusion import __version__
from livefusion.core.errors import ModelError

_log = logging.getLogger(__name__)

_CHUNK: Final = 1 << 18
_SILENCE_SECONDS: Final = 30.0
"""A connection that says nothing for so long is taken for cut."""
_TRIES: Final = 4
"""In a row at one address without a new byte."""
_WAIT_SECONDS: Final = 1.0
_TELL_SECONDS: Final = 0.1
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


@dataclass(frozen=True, slots=True)
class Download:
    """What is wanted: any of the ``mirrors``, if its content has the sha256.

    ``size_bytes`` is None if nobody noted it.
    """

    name: str
    file: str
    sha256: str
    mirrors: tuple[str, ...]
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a download is; ``total`` is None if the server does not say."""

    name: str
    done: int
    total: int | None
    bytes_per_second: float

    @property
    def line(self) -> str:
        """``ghost_2: 42 % · 143 of 340 MB · 11.2 MB/s · 0:18 left``."""
        rate = f"{self.bytes_per_second / 1e6:.1f} MB/s"
        if not self.total:
            return f"{self.name}: {self.done / 1e6:.0f} MB · {rate}"
        left = round((self.total - self.done) / max(self.bytes_per_second, 1.0))
        return (
            f"{self.name}: {self.done / self.total:4.0%} · {self.done / 1e6:.0f} of {self.total / 1e6:.0f} MB"
            f" · {rate} · {left // 60}:{left % 60:02} left"
        )


class Downloader:
    """Fetches into a partial file, which a later try goes on with.

    ``tell`` hears how far it is, ``require`` how many bytes are yet to come before they do, and refuses by
    raising; no more than ``most`` bytes are taken. ``sleep`` waits seconds.
    """

    def __init__(
        self,
        tell: Callable[[Progress], None],
        require: Callable[[int], None],
        most: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._tell = tell
        self._require = require
        self._most = most
        self._sleep = sleep
        self._opener = _opener()

    def fetch(self, wanted: Download, part: Path) -> None:
        """Have the whole content in ``part``, its sha256 checked.

        ``ModelError`` if no mirror has it; what came so far stays for the next try, unless it is wrong.
        """
        reasons = []
        for address in wanted.mirrors:
            try:
                self._from(address, wanted, part)
                return
            except _MirrorError as error:
                reasons.append(f"{_host(address)}: {error}")
                _log.info("%s from %s: %s", wanted.name, _host(address), error)
        raise ModelError(
            f"{wanted.name} cannot be fetched ({'; '.join(reasons) or 'no mirror is known'})",
            "try again later, or get the file elsewhere and `livefusion models add` it",
        )

    def _from(self, address: str, wanted: Download, part: Path) -> None:
        tries = 0
        while tries < _TRIES:
            before = _size(part)
            try:
                complete = self._once(address, wanted, part)
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, urllib.error.HTTPError):
                    raise _MirrorError(f"HTTP {error.code}") from error
                if _is_of_disk(error):
                    raise ModelError(f"{part.parent} cannot be written ({error})", "see the disk") from error
                reason, complete = _reason(error), False
            else:
                reason = "the connection was cut"
            if complete:
                return self._compare(wanted, part)
            tries = 0 if _size(part) > before else tries + 1
            self._sleep(_WAIT_SECONDS)
        raise _MirrorError(reason)

    def _once(self, address: str, wanted: Download, part: Path) -> bool:
        """Go on with the partial file; whether it is whole now."""
        start = _size(part)
        headers = {"User-Agent": f"livefusion/{__version__}", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        request = urllib.request.Request(address, headers=headers)
        try:
            response = self._opener.open(request, timeout=_SILENCE_SECONDS)
        except urllib.error.HTTPError as error:
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and start:
                if start == wanted.size_bytes or _hash(part) == wanted.sha256:
                    return True
                part.unlink()
                return False
            raise
        with response:
            start, total = _extent(response, start)
            self._check_size(wanted, total)
            self._require(max(0, (total or wanted.size_bytes or 0) - start))
            with part.open("r+b" if start else "wb") as file:
                file.seek(start)
                file.truncate()
                done = self._copy(response, file, Progress(wanted.name, start, total, 0.0))
        return done == total if total is not None else True

    def _check_size(self, wanted: Download, total: int | None) -> None:
        if total is None:
            return
        if wanted.size_bytes not in {None, total}:
            raise _MirrorError(f"it has {total} bytes instead of {wanted.size_bytes}")
        if total > self._most:
            raise _MirrorError(f"it has {total / 1e9:.1f} GB, too much for a model")

    def _copy(self, response: http.client.HTTPResponse, file: BinaryIO, so_far: Progress) -> int:
        began = told = time.monotonic()
        done = so_far.done
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            done += len(chunk)
            if done > (self._most if so_far.total is None else so_far.total):
                raise _MirrorError("it sends more than it said")
            now = time.monotonic()
            if now - told >= _TELL_SECONDS:
                told = now
                rate = (done - so_far.done) / max(now - began, 1e-9)
                self._tell(Progress(so_far.name, done, so_far.total, rate))
        return done

    def _compare(self, wanted: Download, part: Path) -> None:
        digest = _hash(part)
        if digest != wanted.sha256:
            part.unlink()
            raise _MirrorError(f"its sha256 is {digest[:12]}… and not {wanted.sha256[:12]}…")


class _MirrorError(Exception):
    """One address does not have the file; another one may."""


def _opener() -> urllib.request.OpenerDirector:
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _extent(response: http.client.HTTPResponse, start: int) -> tuple[int, int | None]:
    """Where the answer begins in the file, and the size of the whole."""
    if response.status == http.client.PARTIAL_CONTENT:
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if found is None or int(found.group(1)) != start:
            raise _MirrorError("it answers with another part than was asked for")
        return start, int(found.group(2))
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else None


def _size(part: Path) -> int:
    with suppress(FileNotFoundError):
        return part.stat().st_size
    return 0


def _hash(part: Path) -> str:
    with part.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_of_disk(error: Exception) -> bool:
    """Whether a file was refused and not a connection: those carry the name of the file, or no space."""
    import errno

    return isinstance(error, OSError) and (
        error.filename is not None or error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
    )


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(reason) or type(reason).__name__


def _host(address: str) -> str:
    """Who is asked: addresses may hold passwords."""
    return urlsplit(address).hostname or "no host"
