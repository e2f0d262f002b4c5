"""Edit a record as TOML in the user's editor, again if the text is not accepted."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from baton_git.core.codecs import toml
from baton_git.core.errors import BatonError, InvalidArgument, InvalidDocument, NotAllowed, StoreError, Unsettled
from baton_git.core.output import one_line
from baton_git.core.records.base import alike
from baton_git.core.state import Key
from baton_git.git.files.atomic_files import make_folder, show_path, writing
from baton_git.git.local_git import LocalGit
from baton_git.interfaces.cli.app import App, read_text
from baton_git.interfaces.cli.printing import agrees
from baton_git.interfaces.context.process import outside_git
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.editing import EDITABLE, EditRecord, find_live

Result = TypeVar("Result")
NOTE = "#!"
"""The beginning of lines that baton adds to the text. They are comments in TOML."""


def edit_in_editor(
    app: App, ws: Workspace, verb_input: EditRecord, edit: Callable[[EditRecord], Result]
) -> Result | None:
    """Open a record in the editor, and call `edit` with the changed fields.

    Returns:
        The result of `edit`; None if no field was changed.

    Raises:
        StoreError: there is no editor, or it fails.
        BatonError: the text is invalid or the change is refused, and the person does not edit the text again; the hint
            names the file with the text.
    """
    key = find_live(ws, verb_input)
    record = ws.branch.read().state.get(EDITABLE[key.kind], key.id)
    seen = {name: value for name, value in record.as_data().items() if name != "id"}
    path = _write_draft(app, key, _make_notes(key, list(seen)) + toml.dumps(seen).decode())
    while True:
        _run_editor(app, path)
        try:
            fields = _find_changes(seen, path)
            result = edit(verb_input.model_copy(update={"fields": fields, "seen": seen})) if fields else None
        except (InvalidDocument, InvalidArgument, NotAllowed, Unsettled) as error:
            _ask_again(app, path, error)
            continue
        path.unlink(missing_ok=True)
        if result is None:
            app.say("nothing was changed")
        return result


def _make_notes(key: Key, names: list[str]) -> str:
    unset = ", ".join(name for name in EDITABLE[key.kind].model_fields if name not in (*names, "id"))
    lines = [f"{key}, as TOML. Save and close to store your changes; close without a change to cancel."]
    lines += [f"Fields that are not set: {unset}"] if unset else []
    return "".join(f"{NOTE} {line}\n" for line in lines) + "\n"


def _write_draft(app: App, key: Key, text: str) -> Path:
    folder = app.settings.repository.common_dir / "baton" / "edits"
    make_folder(folder)
    with writing(folder):
        handle, name = tempfile.mkstemp(".toml", f"{key.kind}-", folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    return Path(name)


def _run_editor(app: App, path: Path) -> None:
    """Open a file in the editor that git would open (GIT_EDITOR, core.editor, VISUAL, EDITOR)."""
    folder = app.settings.folder or app.settings.repository.common_dir
    editor = os.environ.get("GIT_EDITOR") or LocalGit(Path(folder), outside_git()).ask("var", "GIT_EDITOR")
    if not editor:
        raise StoreError("no editor is configured", hint="set EDITOR, or name the fields: baton edit ID --reason TEXT")
    done = subprocess.run(["sh", "-c", f'{editor} "$@"', editor, str(path)], check=False)  # noqa: S603, S607  as git does
    if done.returncode != 0:
        raise StoreError(
            f"the editor {one_line(editor, 60)} failed with exit status {done.returncode}, so nothing was changed"
        )


def _find_changes(seen: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the fields whose value in the text differs, with the new value; None for a field that was removed."""
    data = dict(toml.loads(read_text(str(path)).encode()))
    changed = {name: value for name, value in data.items() if name not in seen or not alike(seen[name], value)}
    return changed | {name: None for name in seen if name not in data}


def _ask_again(app: App, path: Path, error: BatonError) -> None:
    """Ask whether to edit the text again; if so, write the error above the text, else raise it."""
    app.say(str(error), *([error.hint] if error.hint else []))
    if not agrees("Edit it again?", default=True):
        error.hint = f"nothing was changed; your text is in {show_path(path)}"
        raise error
    lines = [line for line in read_text(str(path)).splitlines() if not line.startswith(NOTE)]
    notes = [f"{NOTE} {line}" for line in str(error).splitlines()]
    with writing(path):
        path.write_text("\n".join([*notes, *lines]) + "\n", encoding="utf-8")
