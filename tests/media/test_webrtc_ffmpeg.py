"""FFmpeg's own WHIP muxer, in PyAV, as a client: a third party in C."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import av
import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.core.settings import WebSettings
from livefusion.media.webrtc.inlet import ReceivedPicture, SenderGone
from livefusion.server.door import Door, open_door
from livefusion.testing.webrtc import read_number

pytestmark = [
    pytest.mark.net,
    pytest.mark.skipif("whip" not in av.formats_available, reason="this FFmpeg has no WHIP muxer"),
    # aiortc leaves sockets and transports to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PATIENCE = 30.0

# A process of its own: its native threads and their logs do not mix with ours.
CLIENT = """
import sys, time
from fractions import Fraction
import av
import numpy as np
from livefusion.core.geometry import Size
from livefusion.testing.webrtc import numbered_picture

url, token, certificate, key, profile, count = sys.argv[1:]
options = {"authorization": token, "handshake_timeout": "8000", "cert_file": certificate, "key_file": key}
with av.open(url, "w", format="whip", options=options) as whip:
    video = whip.add_stream("libx264", rate=30, options={
        "preset": "ultrafast", "tune": "zerolatency", "bf": "0", "profile": profile})
    video.width, video.height, video.pix_fmt = 320, 180, "yuv420p"
    video.codec_context.gop_size = 30
    sound = whip.add_stream("libopus", rate=48000, layout="stereo")
    start, samples = time.monotonic(), 0
    for number in range(int(count)):
        picture = numbered_picture(Size(320, 180), number)
        picture.pts, picture.time_base = number, Fraction(1, 30)
        whip.mux(video.encode(picture))
        while samples / 48000 <= number / 30:
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 1920), np.int16), format="s16", layout="stereo")
            silence.sample_rate, silence.pts, silence.time_base = 48000, samples, Fraction(1, 48000)
            samples += 960
            whip.mux(sound.encode(silence))
        time.sleep(max(0.0, start + number / 30 - time.monotonic()))
"""


@pytest.fixture
def door() -> Iterator[Door]:
    from aioice.ice import get_host_addresses

    if not get_host_addresses(use_ipv4=True, use_ipv6=False):
        pytest.skip("this machine has no network but the loopback")
    with open_door(WebSettings(port=0, token="s3cret")) as made:
        yield made


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Without a P-256 certificate of our choice FFmpeg's GnuTLS fails in the handshake with anybody."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ffmpeg")])
    day = datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("certificate")
    (folder / "c.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "k.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return folder / "c.pem", folder / "k.pem"


def client(
    door: Door, certificate: tuple[Path, Path], *, token: str = "s3cret", profile: str = "baseline"
) -> subprocess.Popen[str]:
    words = [f"{door.address}/whip", token, *map(str, certificate), profile, "90"]
    return subprocess.Popen([sys.executable, "-c", CLIENT, *words], stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("profile", ["baseline", "main", "high"])
def test_its_pictures_arrive_whatever_the_profile(
    door: Door, certificate: tuple[Path, Path], profile: str
) -> None:
    with client(door, certificate, profile=profile) as process:
        numbers = []
        taken = door.exchange.inlet.take(PATIENCE)
        while isinstance(taken, ReceivedPicture):
            numbers.append(read_number(taken.picture.to_ndarray(format="gray")))
            taken = door.exchange.inlet.take(PATIENCE)
        process.wait(PATIENCE)
    assert taken == SenderGone()  # it says DELETE
    assert numbers == sorted(set(numbers))
    assert numbers[-1] >= 85  # what is on the way when it hangs up is lost
    assert len(numbers) >= 45


def test_it_is_kept_although_it_answers_no_question_for_its_consent(
    door: Door, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioice.ice.CONSENT_INTERVAL", 0.1)
    monkeypatch.setattr("aioice.stun.RETRY_RTO", 0.1)
    with client(door, certificate) as process:
        numbers = []
        while isinstance(taken := door.exchange.inlet.take(PATIENCE), ReceivedPicture):
            numbers.append(read_number(taken.picture.to_ndarray(format="gray")))
        process.wait(PATIENCE)
    assert process.returncode == 0  # else it is cut off after 1.2 of its 3 seconds
    assert numbers[-1] >= 85


def test_a_wrong_token_is_told(door: Door, certificate: tuple[Path, Path]) -> None:
    with client(door, certificate, token="wrong") as process:
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert "401" in told or "Unauthorized" in told or "authorization" in told.lower(), told
    assert door.exchange.inlet.received == 0
