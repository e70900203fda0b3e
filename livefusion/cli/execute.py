"""Runs the graph that settings describe, in the sight of the user."""

import logging
from pathlib import Path

from livefusion.cli.console import Console
from livefusion.cli.json_output import write_json
from livefusion.cli.progress import LIVE_INTERVAL, ProgressView
from livefusion.cli.summary import summary, warnings
from livefusion.core.errors import SettingsError
from livefusion.core.settings import Settings
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.provenance.consent import CONSENT_TEXT

_log = logging.getLogger(__name__)


def execute(settings: Settings, console: Console) -> None:
    """Run to the end of the input, the duration or Ctrl-C; then say where the outputs are and the figures.

    Raises the errors of the run, and ``KeyboardInterrupt`` after the outputs are closed and the report is
    written.
    """
    _require_folders(settings)
    library = IdentityLibrary()
    settings = with_consent(settings, library.names(), console)
    pipeline = Pipeline(settings, library=library)
    try:
        _follow(pipeline, console)
    finally:
        report = pipeline.report()
        if settings.report is not None:
            write_json(settings.report, report, console)
        if report["frames"]["delivered"]:
            console.result(summary(report))
        for warning in warnings(report):
            _log.warning("%s", warning)


def with_consent(settings: Settings, names: tuple[str, ...], console: Console) -> Settings:
    """The settings with a consent, which a photo as source needs: from the flag, else from the person.

    Personas and stored identities need none here. ``SettingsError`` if there is none to be had.
    """
    is_photo = settings.source not in names and settings.source and Path(settings.source).exists()
    if not is_photo or settings.consent.strip():
        return settings
    if console.interactive:
        console.note(CONSENT_TEXT)
        answer = console.ask('Who agreed ("myself", or "NAME, for PURPOSE")?')
        if answer:
            return settings.model_copy(update={"consent": answer})
    raise SettingsError(
        f"the face in {settings.source} is put on only with the consent of its owner",
        'add --consent myself, or --consent "NAME, for PURPOSE"',
    )


def _require_folders(settings: Settings) -> None:
    """``SettingsError`` now, rather than after an hour, if a file of figures could not be written."""
    for flag, path in (("--report", settings.report), ("--trace", settings.trace)):
        if path is not None and not path.parent.is_dir():
            raise SettingsError(f"{flag} {path} cannot be written", f"there is no folder {path.parent}")


def _follow(pipeline: Pipeline, console: Console) -> None:
    view = ProgressView(console)
    if console.live:
        console.status("getting ready …")
    try:
        pipeline.start()
        while not pipeline.wait(LIVE_INTERVAL):
            view.show(pipeline.progress())
    finally:
        view.close()
        pipeline.stop()
