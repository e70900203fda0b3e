"""A payload is read where single bits can not be, and never a wrong one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livefusion.provenance.chips import BITS
from livefusion.provenance.reading import likeliest, read_by
from livefusion.provenance.watermark import Payload, WatermarkKey

pytestmark = pytest.mark.unit

KEY = WatermarkKey(b"a key of the tests, and of them alone", 0x2A)
sessions, bits = st.integers(0, 0xFFFF), st.integers(0, BITS - 1)


def scores_of(payload: Payload, strength: float) -> np.ndarray:
    return np.where(payload.bits, strength, -strength)


@given(sessions, st.integers(0, 0xFF))
def test_a_payload_comes_back(session: int, key_id: int) -> None:
    payload = Payload(session, key_id)
    assert likeliest(scores_of(payload, 3.0), key_id) == payload


@given(sessions, bits)
def test_a_wrong_bit_is_outvoted(session: int, bit: int) -> None:
    payload = Payload(session, KEY.key_id)
    scores = scores_of(payload, 3.0)
    scores[bit] *= -0.5
    assert likeliest(scores, KEY.key_id) == payload


def test_a_tie_is_not_read() -> None:
    one, other = scores_of(Payload(0x1234, 7), 3.0), scores_of(Payload(0x1235, 7), 3.0)
    assert likeliest((one + other) / 2, 7) is None


@pytest.mark.parametrize(("strength", "least"), [(0.0, 0.0), (2.0, 0.8), (2.5, 0.98)])
def test_under_noise_it_is_read_right_or_not_at_all(strength: float, least: float) -> None:
    """Bit by bit, all 32 are right in 0.50 and 0.82 of the cases."""
    rng = np.random.default_rng(round(10 * strength))
    read = 0
    for session in rng.integers(0, 0x10000, 300):
        payload = Payload(int(session), KEY.key_id)
        scores = scores_of(payload, strength) + rng.normal(size=BITS)
        got = read_by([KEY], {KEY.secret: scores}.__getitem__)
        assert got in {None, payload}
        read += got is not None
    assert read >= least * 300


def test_the_key_that_fits_is_found_among_several() -> None:
    payload = Payload(0xBEEF, KEY.key_id)
    by_secret = {KEY.secret: scores_of(payload, 3.0)}
    other = WatermarkKey(b"a key that wrote nothing here", 1)
    assert read_by([other, KEY], lambda secret: by_secret.get(secret, np.full(BITS, 0.1))) == payload
