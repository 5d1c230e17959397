"""Images for ``understudy synthesize``: IDX files and folders of PNG pictures in, the same out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli.checks import NO_LEDGER, check_distinct
from understudy.cli.talk import Talk
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.privacy.ledger import LedgerFile
    from understudy.synthesizers import Synthesizer

IMAGE_METHODS = ("gaussian", "gan", "merf")


@dataclass(frozen=True, kw_only=True)
class ImagePaths:
    """What is read and written.

    Parameters
    ----------
    images, labels
        The private images, and for an IDX file their labels.
    classes
        How many labels there can be.
    output, sheet, model
        Where images, a contact sheet of them and the model go.
    """

    images: str
    labels: Path | None
    classes: int | None
    output: str
    sheet: Path | None
    model: Path | None
    rows: int | None
    seed: int | None

    def check(self) -> None:
        """Refuse what could not be written, before anything is read."""
        from understudy.data.files import writable_file
        from understudy.data.image_files import check_images_output

        if self.output == "-":
            raise InputError(
                "Images need a place to go: say -o synthetic.idx.gz, or -o and a new folder for "
                "PNG pictures."
            )
        check_distinct(self.images, self.labels, self.output, self.sheet, self.model)
        check_images_output(Path(self.output))
        for path, what in ((self.sheet, "contact sheet"), (self.model, "model")):
            if path is not None:
                writable_file(path, what)


def synthesize_images(
    method: Synthesizer, paths: ImagePaths, *, ledger: LedgerFile | None, talk: Talk
) -> None:
    """From private images to synthetic ones."""
    from understudy.data.files import replace_content
    from understudy.data.image_files import contact_sheet, read_images, write_images
    from understudy.data.png import write_png
    from understudy.synthesizers.image_tables import images_of_model, table_of_images

    if method.name not in IMAGE_METHODS:
        raise InputError(
            f"The method {method.name} is for tables; for images use --method "
            f"{', '.join(IMAGE_METHODS[:-1])} or {IMAGE_METHODS[-1]}."
        )
    paths.check()
    table, schema = table_of_images(
        read_images(paths.images, paths.labels, paths.classes), method.name
    )
    notes: list[str] = []
    with talk.working("reading and learning") as progress:
        released = method.fit(table, schema, ledger=ledger, notify=notes.append, progress=progress)
    made = images_of_model(released, paths.rows, paths.seed)
    if paths.model is not None:
        released.save(paths.model)
    written = write_images(Path(paths.output), made)
    if paths.sheet is not None:
        replace_content(paths.sheet, write_png(contact_sheet(made)))
    talk.say(released.ledger.statement())
    if ledger is None:
        talk.say(NO_LEDGER)
    places = [("Synthetic images", written[0]), *(("Labels", path) for path in written[1:])]
    for what, path in [*places, ("Contact sheet", paths.sheet), ("Model", paths.model)]:
        if path is not None:
            talk.say(f"{what}: {path}")
