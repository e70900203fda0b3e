"""What is wrong with the files of a run, found out before it rather than after an hour of it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from livefusion.core.errors import OutputError
from livefusion.core.files import obstacle
from livefusion.core.settings import Settings
from livefusion.media.paths import leads_somewhere, same_file
from livefusion.media.sources.uri import FileLocator, parse_input, parse_output


def check_files(settings: Settings) -> None:
    """Refuse a run that would overwrite what it reads or writes, or could not write its figures.

    Raises ``OutputError``; of several outputs only if none of them can be written, for one that fails does
    not stop the others. Raises what is wrong with INPUT and OUTPUT as words, too.
    """
    outputs = [parse_output(text) for text in settings.output]
    paths = [output.path for output in outputs if isinstance(output, FileLocator)]
    figures = list(_figures(settings))
    _refuse_overwriting(_read(settings), [*((str(path), path) for path in paths), *figures])
    for name, path in figures:
        if problem := obstacle(path):
            raise OutputError(f"{name.partition(' ')[0]} {problem.problem}", problem.remedy)
    problems = [problem for path in paths if (problem := _obstacle_to_video(path))]
    if problems and len(problems) == len(outputs):
        raise problems[0]


def _obstacle_to_video(path: Path) -> OutputError | None:
    with suppress(OSError, ValueError):
        if path.is_fifo():
            return OutputError(f"{path} cannot be written (it is a pipe)", "name a file")
    return obstacle(path)


def _refuse_overwriting(read: list[tuple[str, Path]], written: list[tuple[str, Path]]) -> None:
    taken = list(read)
    for name, path in written:
        for what, other in taken:
            if same_file(path, other):
                raise OutputError(f"{name} is {what}", "write to another file")
        taken.append((f"named twice, as {name} too", path))


def _read(settings: Settings) -> list[tuple[str, Path]]:
    files = []
    locator = parse_input(settings.input)
    if isinstance(locator, FileLocator):
        files.append(("the input itself", locator.path))
    if settings.source and leads_somewhere(Path(settings.source)):
        files.append(("the source itself", Path(settings.source)))
    return files


def _figures(settings: Settings) -> Iterator[tuple[str, Path]]:
    for flag, path in (("--report", settings.report), ("--trace", settings.trace)):
        if path is not None and not (flag == "--report" and str(path) == "-"):
            yield f"{flag} {path}", path
