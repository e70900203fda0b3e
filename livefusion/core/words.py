"""Words for people: lists that read well, and the name that was probably meant."""

import difflib
from collections.abc import Iterable, Sequence


def either(words: Sequence[str]) -> str:
    """``a, b or c``; the empty text for no words."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``did you mean NAME?`` for the nearest of the known words, or the empty text if none is near."""
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[near[0]]}?" if near else ""
