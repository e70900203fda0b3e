"""identity list, add and remove, around a library that is pretended."""

import io
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import livefusion.pipeline.identities as identities_module
from livefusion.cli.console import Console
from livefusion.cli.identity import parser, run
from livefusion.cli.main import main
from livefusion.core.errors import IdentityError, InputError, SettingsError
from livefusion.core.face import Expression, Identity
from livefusion.media.paint import is_marked
from livefusion.media.photo import load_rgba
from livefusion.pipeline.gate_model import Screen
from livefusion.provenance.consent import ConsentRecord
from livefusion.provenance.keys import OperatorKey
from livefusion.provenance.store import IdentityStore

pytestmark = pytest.mark.unit

PERSONAS = ("vera", "tom")


class Library:
    """Keeps what it is given without looking at it."""

    advice = ("ana.jpg: turn to the light",)

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        if tell:
            tell("looking")

    def load(self, name: str) -> Identity:
        delta = np.zeros((512, 512, 3), np.int8)
        smile = {"open_mouth": Expression(delta, 0.7)}
        views = {"expressions": smile, "views": 24, "seen": 0.914} if name == "ana" else {}
        return Identity(name, name, np.zeros(0, np.uint8), np.zeros(0, np.float32), **views)

    def names(self) -> tuple[str, ...]:
        return (*PERSONAS, *IdentityStore().names())

    def add(
        self, name: str, photos: list[Path], consent: ConsentRecord, *, screen: Screen
    ) -> SimpleNamespace:
        for photo in photos:
            screen(photo.name, np.full((48, 64, 3), 200, np.uint8))
        if any("dark" in photo.name for photo in photos):
            raise IdentityError("dark.jpg is too dark", "take it in daylight")
        IdentityStore().keep(name, consent, b"face")
        return SimpleNamespace(label=name)


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(identities_module, "IdentityLibrary", Library)
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path / "home"))


@pytest.fixture
def photo(tmp_path: Path) -> str:
    path = tmp_path / "ana.jpg"
    Image.new("RGB", (8, 8)).save(path)
    return str(path)


def test_names_are_one_a_line_personas_first(photo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identity", "add", "ana", photo, "--by", "Ana", "--consent", "talk"]) == 0
    capsys.readouterr()
    assert main(["identity", "list", "--names"]) == 0
    assert capsys.readouterr().out == "vera\ntom\nana\n"


def test_what_is_known_of_a_face_is_shown(photo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identity", "add", "ana", photo, "--by", "Ana", "--consent", "talk"]) == 0
    capsys.readouterr()
    for name, row in (("ana", ["ana", "24", "91%", "open", "mouth"]), ("vera", ["vera", "not", "noted"])):
        assert main(["identity", "show", name]) == 0
        assert capsys.readouterr().out.splitlines()[-1].split()[: len(row)] == row
    assert main(["identity", "show", "anna"]) == 2
    assert "did you mean ana?" in capsys.readouterr().err


def test_the_table_tells_whose_face_it_is_and_how_long_it_may_be_used(
    photo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "identity",
        "add",
        "ana",
        photo,
        "--by",
        "Ana Lima",
        "--consent",
        "talk",
        "--until",
        "2199-12-31",
    ]
    assert main(words) == 0
    run_out = ConsentRecord(
        subject="bo", given_by="Bo", purposes="x", until=date(2020, 1, 1), recorded_at="2019-01-01T00:00:00Z"
    )
    IdentityStore().keep("bo", run_out, b"face")
    assert "ana is kept" in capsys.readouterr().out
    assert main(["identity", "list"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert "nobody (persona)" in rows[1]
    assert rows[3].split() == ["ana", "a", "real", "person", "Ana", "Lima", "talk", "2199-12-31"]
    assert rows[4].endswith("2020-01-01 (run out)")


@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        ([], "consent; --by and --consent missing"),
        (["--by", "Ana"], "consent; --consent missing"),
        (["--consent", "t"], "--by"),
    ],
)
def test_without_a_terminal_both_flags_are_needed(
    flags: list[str], missing: str, photo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["identity", "add", "ana", photo, *flags]) == 2
    assert missing in capsys.readouterr().err
    assert IdentityStore().names() == ()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["add", "ana"], "the following arguments are required: PHOTO"),
        (
            ["add", "ana", "{photo}", "--by", "A", "--consent", "t", "--until", "soon"],
            "--until 'soon' is not valid",
        ),
        (
            ["add", "ana", "{photo}", "--by", "A", "--consent", "t", "--until", "2020-01-01"],
            "--until 2020-01-01 is past",
        ),
        (["add", "ana", "{photo}.none", "--by", "A", "--consent", "t"], "cannot read"),
        (["add", "../ana", "{photo}", "--by", "A", "--consent", "t"], "cannot be the name"),
        (["remove", "nobody"], "there is no stored identity nobody"),
        (["remove", "vera"], "vera is a persona"),
    ],
)
def test_wrong_requests(words: list[str], text: str, photo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identity", *(word.replace("{photo}", photo) for word in words)]) == 2
    assert text in capsys.readouterr().err


def test_a_poor_photo_is_refused_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dark = tmp_path / "dark.jpg"
    dark.write_bytes(b"pixels")
    assert main(["identity", "add", "ana", str(dark), "--by", "Ana", "--consent", "talk"]) == 2
    assert capsys.readouterr().err == "livefusion: error: dark.jpg is too dark: take it in daylight\n"


def test_a_folder_gives_its_photos_and_advice_is_told(photo: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(Path(photo).parent)
    assert main(["identity", "add", "ana", folder, "--by", "Ana", "--consent", "talk"]) == 0
    assert capsys.readouterr().err == "livefusion: advice: ana.jpg: turn to the light\n"
    assert len(IdentityStore().record("ana").evidence) == 1


def test_remove(photo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identity", "add", "ana", photo, "--by", "Ana", "--consent", "talk"]) == 0
    assert main(["identity", "remove", "ana"]) == 0
    assert "face and consent" in capsys.readouterr().out
    assert (IdentityStore().names(), IdentityStore().revoked()) == ((), ())


def test_revoke_keeps_the_record_and_says_so(photo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identity", "add", "ana", photo, "--by", "Ana", "--consent", "talk"]) == 0
    assert main(["identity", "revoke", "ana"]) == 0
    assert (IdentityStore().names(), IdentityStore().revoked()) == ((), ("ana",))
    capsys.readouterr()
    assert main(["identity", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("withdrawn, face deleted")
    assert main(["identity", "show", "ana"]) == 0
    assert "withdrawn on" in capsys.readouterr().out
    assert main(["identity", "revoke", "ana"]) == 2
    assert "withdrawn already" in capsys.readouterr().err


def test_export_writes_the_signed_record(photo: str, tmp_path: Path) -> None:
    assert main(["identity", "add", "ana", photo, "--by", "Ana", "--consent", "talk"]) == 0
    out = tmp_path / "ana-consent.json"
    assert main(["identity", "export", "ana", str(out)]) == 0
    key = OperatorKey.load().public
    assert ConsentRecord.load(out, key).given_by == "Ana"
    assert main(["identity", "export", "ana", str(out)]) == 2
    assert main(["identity", "export", "vera", str(tmp_path / "vera.json")]) == 2


@pytest.mark.parametrize(
    ("flags", "by", "scope"),
    [
        (["--myself"], "myself", ("live", "recording")),
        (["--by", "Ana", "--consent", "talk", "--scope", "live"], "Ana", ("live",)),
    ],
)
def test_ones_own_face_is_one_flag_and_a_scope_is_kept(
    photo: str, flags: list[str], by: str, scope: tuple[str, ...]
) -> None:
    assert main(["identity", "add", "ana", photo, *flags]) == 0
    record = IdentityStore().record("ana")
    assert (record.given_by, record.scope) == (by, scope)


def test_what_becomes_of_a_consent_is_in_the_audit_log(
    photo: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["identity", "add", "ana", photo, "--by", "Ana Lima", "--consent", "talk"]) == 0
    assert main(["identity", "export", "ana", str(tmp_path / "out.json")]) == 0
    assert main(["identity", "revoke", "ana"]) == 0
    assert main(["identity", "remove", "ana"]) == 0
    capsys.readouterr()
    assert main(["audit", "verify"]) == 0
    assert "4 lines" in capsys.readouterr().out
    assert main(["audit", "show"]) == 0
    told = capsys.readouterr().out
    events = ("consent recorded", "consent exported", "consent withdrawn", "identity removed")
    assert [told.index(event) for event in events] == sorted(told.index(event) for event in events)
    assert "given by: Ana Lima" in told


class Person(Console):
    """A console at which somebody sits and gives these answers."""

    interactive = True  # type: ignore[assignment]

    def __init__(self, *answers: str) -> None:
        super().__init__(io.StringIO(), io.StringIO())
        self.questions: list[str] = []
        self._answers = list(answers)

    def ask(self, question: str) -> str:
        self.questions.append(question)
        return self._answers.pop(0)


def test_at_a_terminal_what_is_missing_is_asked(photo: str) -> None:
    person = Person("my streams")
    assert run(parser().parse(["add", "me", photo, "--by", "myself"]), person) == 0
    assert person.questions == ["For what?"]
    record = IdentityStore().record("me")
    assert (record.given_by, record.purposes) == ("myself", "my streams")


def test_who_does_not_answer_keeps_no_face(photo: str) -> None:
    with pytest.raises(SettingsError, match="without consent"):
        run(parser().parse(["add", "me", photo]), Person("", ""))
    assert IdentityStore().names() == ()


def test_nobody_is_asked_about_a_file_that_has_no_face_in_it(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("hello")
    person = Person("nobody", "nothing")
    with pytest.raises(InputError, match="is not an image"):
        run(parser().parse(["add", "me", str(notes)]), person)
    assert person.questions == []


def test_what_is_wrong_with_a_flag_is_said_before_anybody_is_asked(photo: str) -> None:
    person = Person("nobody", "nothing")
    for wrong in (["--until", "2020-01-01"], ["--gate-threshold", "much"], ["--config", "none.toml"]):
        with pytest.raises(SettingsError):
            run(parser().parse(["add", "me", photo, *wrong]), person)
    assert person.questions == []


def test_a_template_is_written_and_known_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "face.png"
    assert main(["identity", "template", str(path), "--size", "300"]) == 0
    assert str(path) in capsys.readouterr().out
    assert is_marked(path)
    assert load_rgba(path).shape == (300, 300, 4)
    before = path.read_bytes()
    assert main(["identity", "template", str(path)]) != 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("size", ["255", "4097", "big", "-1"])
def test_a_template_of_another_size_is_refused(tmp_path: Path, size: str) -> None:
    assert main(["identity", "template", str(tmp_path / "face.png"), f"--size={size}"]) != 0
    assert not list(tmp_path.glob("*.png"))


def test_the_content_gate_looks_at_what_is_kept(
    photo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Gate:
        name = "gate.onnx"

        def __init__(self, path: Path) -> None:
            assert path == Path("gate.onnx")

        def score(self, rgb: np.ndarray) -> float:
            return 0.7

    monkeypatch.setattr("livefusion.pipeline.gate_model.GateModel", Gate)
    added = ["identity", "add", "ana", photo, "--myself", "--gate-model", "gate.onnx"]
    assert main(added) == 2
    assert "the content gate refuses ana.jpg (gate.onnx gave 0.700)" in capsys.readouterr().err
    assert main([*added, "--gate-threshold", "0.8"]) == 0
    config = tmp_path / "gate.toml"
    config.write_text('[gate]\ngate_model = "gate.onnx"\n', encoding="utf-8")
    assert main(["identity", "add", "bo", photo, "--myself", "--config", str(config)]) == 2
    assert IdentityStore().names() == ("ana",)


@pytest.mark.parametrize("what", ["audit", "key"])
@pytest.mark.parametrize("action", ["revoke", "remove"])
def test_a_person_can_always_withdraw(
    photo: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, action: str
) -> None:
    """Also where the log takes no line; where the key is damaged, removing is left."""
    if (what, action) == ("key", "revoke"):
        pytest.skip("a record that cannot be signed is not changed")
    assert main(["identity", "add", "ana", photo, "--myself"]) == 0
    broken = tmp_path / "home" / ("audit/audit.jsonl" if what == "audit" else "keys/operator.pem")
    broken.write_bytes(b"nothing of ours\n")
    capsys.readouterr()
    assert main(["identity", action, "ana"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("the consent for ana is withdrawn" if action == "revoke" else "ana is removed")
    assert told.err.count("\n") == 1
    assert "the audit log lacks that" in told.err
    assert IdentityStore().names() == ()


def test_without_a_line_in_the_log_no_face_is_kept(
    photo: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home" / "audit" / "audit.jsonl").mkdir(parents=True)
    assert main(["identity", "add", "ana", photo, "--myself"]) == 2
    assert "audit log" in capsys.readouterr().err
    assert IdentityStore().names() == IdentityStore().revoked() == ()


@pytest.mark.parametrize("name", ["", "../ana", "a/b", "an\na", "𠀀" * 64])
def test_a_name_is_looked_at_first(name: str, photo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identity", "add", name, photo, "--myself"]) == 2
    assert "cannot be the name of an identity" in capsys.readouterr().err
