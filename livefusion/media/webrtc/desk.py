"""Lets peers in, knows who is there, and sees off those who left without a word."""

import asyncio
import logging
import secrets
from collections import deque
from dataclasses import dataclass
from typing import Any, Literal

from livefusion.core.errors import LiveFusionError
from livefusion.core.timing import NANOSECONDS, Clock, SystemClock
from livefusion.media.webrtc.exchange import Exchange
from livefusion.media.webrtc.ice import ANYWHERE, IceServer, Reach
from livefusion.media.webrtc.offer import read_offer
from livefusion.media.webrtc.publisher import Publisher
from livefusion.media.webrtc.viewer import Viewer

_log = logging.getLogger(__name__)

MAX_SESSIONS = 32
"""Peers at once, so that offers cannot take all memory."""
PATIENCE_NS = 20 * NANOSECONDS
"""For how long a peer may take to connect after its offer was answered."""
_REAP_SECONDS = 1.0
_REMEMBERED = 256

Role = Literal["publisher", "viewer"]


class FullError(LiveFusionError):
    """There are as many peers as there may be."""


@dataclass(frozen=True, slots=True, eq=False)
class Session:
    """A peer that was let in, under a name that nobody can guess; ``answer`` is SDP."""

    name: str
    tag: str
    role: Role
    party: Publisher | Viewer
    answer: str
    since_ns: int


class Desk:
    """All sessions of one exchange, on the event loop. There is one publisher, and the last one wins."""

    def __init__(self, exchange: Exchange, *, reach: Reach = ANYWHERE, clock: Clock | None = None) -> None:
        self._exchange = exchange
        self._reach = reach
        self._clock = clock if clock is not None else SystemClock()
        self._sessions: dict[str, Session] = {}
        self._past: deque[tuple[str, Role]] = deque(maxlen=_REMEMBERED)
        self._pending = 0
        self._reaper: asyncio.Task[None] | None = None

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Who is there."""
        return tuple(self._sessions.values())

    @property
    def servers(self) -> tuple[IceServer, ...]:
        """The ICE servers that peers should use."""
        return self._reach.servers

    @property
    def clock(self) -> Clock:
        """What time it goes by."""
        return self._clock

    def find(self, name: str) -> Session | None:
        """The session of that name."""
        return self._sessions.get(name)

    def knew(self, name: str, role: Role) -> bool:
        """Whether a session of that name ended a while ago: clients hang up first and take leave then."""
        return (name, role) in self._past

    async def admit(self, role: Role, offer: str) -> Session:
        """Let a peer in by its offer. Raises what is wrong with the offer, and ``FullError``."""
        direction = "sendonly" if role == "publisher" else "recvonly"
        description = read_offer(offer, direction=direction)
        if len(self._sessions) + self._pending >= MAX_SESSIONS:
            raise FullError("there are too many peers", "close some of them")
        self._pending += 1
        try:
            party = self._make(role)
            answer = await party.answer(description)
        finally:
            self._pending -= 1
        if role == "publisher":
            await self._see_off("publisher")
        name, tag = secrets.token_urlsafe(16), secrets.token_hex(8)
        session = Session(name, tag, role, party, answer, self._clock.now_ns())
        self._sessions[name] = session
        party.connection.on_end(lambda: self._forget(name))
        if party.connection.ended:
            self._forget(name)
        if self._reaper is None:
            self._reaper = asyncio.get_running_loop().create_task(self._reap())
        _log.info("a %s is let in", role)
        return session

    async def dismiss(self, session: Session) -> None:
        """End a session."""
        await session.party.connection.close()
        self._forget(session.name)

    async def close(self) -> None:
        """End every session."""
        if self._reaper is not None:
            self._reaper.cancel()
        for session in self.sessions:
            await self.dismiss(session)

    def figures(self) -> list[dict[str, Any]]:
        """What can be said of every session without naming it."""
        return [
            {"role": one.role, "connected": one.party.connection.connected, **one.party.figures}
            for one in self.sessions
        ]

    def _make(self, role: Role) -> Publisher | Viewer:
        if role == "publisher":
            inlet, ceiling = self._exchange.inlet, self._exchange.outlet.ceiling
            return Publisher(inlet, self._clock, ceiling, self._reach)
        return Viewer(self._exchange.outlet, self._clock, self._reach)

    def _forget(self, name: str) -> None:
        session = self._sessions.pop(name, None)
        if session is not None:
            self._past.append((name, session.role))
            _log.info("a %s is gone", session.role)

    async def _see_off(self, role: Role) -> None:
        for session in self.sessions:
            if session.role == role:
                _log.info("another %s takes over", role)
                await self.dismiss(session)

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(_REAP_SECONDS)
            await self.reap()

    async def reap(self) -> None:
        """See off peers that never connected. Those that fall silent end by themselves, by ICE consent."""
        now_ns = self._clock.now_ns()
        for session in self.sessions:
            if not session.party.connection.connected and now_ns - session.since_ns > PATIENCE_NS:
                _log.info("a %s never connected", session.role)
                await self.dismiss(session)
