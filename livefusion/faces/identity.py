"""Which person a track is: embeddings bound to tracks, slow to change their mind."""

from dataclasses import dataclass

from livefusion.faces.embed import SAME_PERSON, Embedding, cosine, unit

# An embedding this near is of that person beyond doubt and may refine what is remembered of them.
_SURE = 0.5
_REFINEMENT = 0.1
# A bound track changes its person when so many looks in a row agree on another one; a stranger, to whom a
# turned or blurred face is easily mistaken, needs more.
_LOOKS_FOR_KNOWN = 2
_LOOKS_FOR_STRANGER = 4
_STRANGER = -1


@dataclass(slots=True)
class _Binding:
    person: int
    rival: int | None = None
    votes: int = 0
    confirmed: bool = False


class IdentityBinder:
    """Gives persons numbers, from 0, in the order in which they are first seen.

    A person has one track at a time. ``switches`` counts tracks that changed from one person to another.
    """

    def __init__(self, most_persons: int = 64) -> None:
        self.switches = 0
        self._most_persons = most_persons
        self._persons: list[Embedding] = []
        self._bindings: dict[int, _Binding] = {}

    def person_of(self, track: int) -> int | None:
        """Number of the person bound to a track, None until it has been looked at."""
        binding = self._bindings.get(track)
        return None if binding is None else binding.person

    def is_settled(self, track: int) -> bool:
        """Whether the last look at a track agreed with its person."""
        binding = self._bindings.get(track)
        return binding is not None and binding.confirmed

    def doubt(self, track: int) -> None:
        """The track may have changed its person (a gap, a crossing): it is not settled until looked at."""
        if track in self._bindings:
            self._bindings[track].confirmed = False

    def forget(self, track: int) -> None:
        """The track is gone; its person is remembered."""
        self._bindings.pop(track, None)

    def observe(self, track: int, embedding: Embedding) -> int | None:
        """Take in a look at a track; its person from now on, None if nobody can be told yet."""
        seen = self._recognise(embedding)
        binding = self._bindings.get(track)
        if binding is None:
            person = self._enrol(embedding) if seen == _STRANGER else seen
            return None if person is None else self._bind(track, person)
        if self._agrees(binding, embedding, seen):
            binding.rival, binding.votes, binding.confirmed = None, 0, True
            return binding.person
        return self._vote(track, binding, embedding, seen)

    def _agrees(self, binding: _Binding, embedding: Embedding, seen: int) -> bool:
        near = cosine(self._persons[binding.person], embedding)
        if seen == binding.person and near >= _SURE:
            merged = (1 - _REFINEMENT) * self._persons[binding.person] + _REFINEMENT * embedding
            self._persons[binding.person] = unit(merged)
        return seen == binding.person

    def _vote(self, track: int, binding: _Binding, embedding: Embedding, seen: int) -> int | None:
        binding.votes = binding.votes + 1 if binding.rival == seen else 1
        binding.rival = seen
        if binding.votes < (_LOOKS_FOR_STRANGER if seen == _STRANGER else _LOOKS_FOR_KNOWN):
            return binding.person
        person = self._enrol(embedding) if seen == _STRANGER else seen
        if person is None:
            return binding.person
        self.switches += 1
        return self._bind(track, person)

    def _bind(self, track: int, person: int) -> int:
        for other, binding in list(self._bindings.items()):
            if binding.person == person and other != track:
                del self._bindings[other]
        self._bindings[track] = _Binding(person, confirmed=True)
        return person

    def _recognise(self, embedding: Embedding) -> int:
        likeness = [cosine(person, embedding) for person in self._persons]
        if not likeness or max(likeness) < SAME_PERSON:
            return _STRANGER
        return likeness.index(max(likeness))

    def _enrol(self, embedding: Embedding) -> int | None:
        if len(self._persons) >= self._most_persons:
            return None
        self._persons.append(embedding)
        return len(self._persons) - 1
