"""Lists and guesses for people."""

import pytest

from livefusion.core.words import did_you_mean, either

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("words", "text"), [((), ""), (("a",), "a"), (("a", "b"), "a or b"), (("a", "b", "c"), "a, b or c")]
)
def test_either(words: tuple[str, ...], text: str) -> None:
    assert either(words) == text


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("--detct-every", "did you mean --detect-every?"),
        ("--DETECT-EVERY", "did you mean --detect-every?"),
        ("zebra", ""),
        ("", ""),
    ],
)
def test_did_you_mean(word: str, text: str) -> None:
    assert did_you_mean(word, ["--fps", "--detect-every"]) == text
