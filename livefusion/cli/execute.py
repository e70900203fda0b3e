"""Runs the graph that settings describe, in the sight of the user."""

import logging
from pathlib import Path
from typing import Any

from livefusion.cli.console import Console
from livefusion.cli.json_output import write_json
from livefusion.cli.peers import peers_of
from livefusion.cli.preflight import check_files
from livefusion.cli.progress import LIVE_INTERVAL, ProgressView, tell_on
from livefusion.cli.summary import details, summary, warnings
from livefusion.cli.trail import trail_of
from livefusion.cli.waiting import tell_waiting
from livefusion.core.errors import OutputError, SettingsError
from livefusion.core.settings import Settings
from livefusion.media.paint import may_be_painted
from livefusion.media.paths import leads_somewhere
from livefusion.media.source_files import check_source_files, source_files
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.paintings import is_painted
from livefusion.pipeline.parts import Parts
from livefusion.pipeline.policy import require_reason
from livefusion.provenance.consent import CONSENT_TEXT

_log = logging.getLogger(__name__)


def execute(settings: Settings, console: Console) -> None:
    """Run to the end of the input, the duration or Ctrl-C; then say where the outputs are and the figures.

    Raises the errors of the run, and ``KeyboardInterrupt`` after the outputs are closed and the report is
    written.
    """
    require_reason(settings)
    check_files(settings)
    library = IdentityLibrary(tell=tell_on(console))
    settings = with_consent(settings, library.names(), console)
    if not settings.safety.badge:
        _log.warning("the picture is not marked: to say that its faces were changed by AI is your duty now")
    tell_waiting(settings, console)
    with trail_of(settings, library) as trail, peers_of(settings, console) as exchange:
        pipeline = Pipeline(settings, library=library, parts=Parts(exchange=exchange, trail=trail))
        is_complete = False
        try:
            _follow(pipeline, library, console)
            is_complete = True
        finally:
            _tell(pipeline.report(), settings, console, is_complete)


def _tell(report: dict[str, Any], settings: Settings, console: Console, is_complete: bool) -> None:
    """Say how a run went; what ended it early matters more than a report that cannot be written."""
    if not is_complete and not report["frames"]["captured"]:
        return  # it never began: there is nothing to tell, and a report would be full of zeros
    if not report["frames"]["delivered"]:
        if is_complete:
            _log.warning("no picture was written: the input ended before its first one")
    elif str(settings.report) != "-":
        console.result(summary(report))
    for detail in details(report):
        _log.info("%s", detail)
    for warning in warnings(report, console.said):
        _log.warning("%s", warning)
    if settings.report is None:
        return
    try:
        write_json(settings.report, report, console)
    except OutputError as error:
        if is_complete:
            raise
        _log.error("%s", error)


def with_consent(settings: Settings, names: tuple[str, ...], console: Console) -> Settings:
    """The settings with a consent, which a photo as source needs: from the flag, else from the person.

    Personas, stored identities and painted faces need none here. ``SettingsError`` if none is to be had.
    """
    is_photo = settings.source not in names and settings.source and leads_somewhere(Path(settings.source))
    if not is_photo or settings.consent.strip() or is_painted(settings.source, settings.painted):
        return settings
    if settings.safety.preview:
        return settings
    if may_be_painted(Path(settings.source)):
        return settings  # loading it says that it may be a painted face
    check_source_files(source_files(Path(settings.source)))
    if console.interactive:
        console.note(CONSENT_TEXT)
        answer = console.ask('Who agreed ("myself", or "NAME, for PURPOSE")?')
        if answer:
            return settings.model_copy(update={"consent": answer})
    raise SettingsError(
        f"the face in {settings.source} is put on only with the consent of its owner",
        'add --consent myself, or --consent "NAME, for PURPOSE"',
    )


def _follow(pipeline: Pipeline, library: IdentityLibrary, console: Console) -> None:
    view = ProgressView(console)
    try:
        pipeline.start()
        for advice in library.advice:
            console.note(f"livefusion: advice: {advice}")
        while not pipeline.wait(LIVE_INTERVAL):
            view.show(pipeline.progress())
    finally:
        view.close()
        pipeline.stop()
