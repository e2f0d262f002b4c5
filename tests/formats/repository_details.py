"""Golden repositories for details that decide a commit id: notations, exact bytes, ids, sizes, collisions, trailers."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha1

from golden_repositories import (
    START,
    Commit,
    Files,
    GoldenRepository,
    Mode,
    archived_loop,
    follow_up,
    loop,
    root,
    sides,
    with_mode,
)

from baton_git.core.kinds import shard
from baton_git.core import layout, stored_form
from baton_git.core.merge.decisions import make_conflict
from baton_git.core.merge.decisions import ContestedValue
from baton_git.core.state import Key
from baton_git.git.store.stored_edits import add_attributes

NOTE = "# by hand\n"
"""A comment, which is lost when a record is written anew."""
FRAME = 'at = "2026-11-02"\nreason = "done"\n\n[record]\n'


def list_details() -> Iterator[GoldenRepository]:
    yield make_fanned_out()
    yield make_bundled()
    yield make_split_bundles()
    yield make_respelled()
    yield make_exact_bytes()
    yield make_number_types()
    yield make_id_in_a_file()
    yield make_immutable_fields()
    yield make_conflicts_of_a_side()
    yield make_one_conflict_of_two_records()
    yield make_displaced()
    yield make_long_ids()
    yield make_order_of_texts()
    yield make_handover_order()
    yield make_too_large()
    yield make_modes_of_lines()
    yield make_modes_of_taken()
    yield make_listed_fields_of_a_merge()
    yield make_author_times()
    yield make_side_copies()
    yield make_in_the_way()
    yield make_modes_of_roots()
    yield make_trailer_details()


def text_of(files: Files) -> str:
    """Return the content of the only file."""
    [text] = files.values()
    return str(text)


def follow_up_text(id_: str, reason: str = "later") -> str:
    return text_of(follow_up(id_, 1, reason))


def live(id_: str) -> str:
    """Return the path of a follow-up."""
    return layout.path_of(Key("follow_up", id_))


def closed(id_: str) -> str:
    """Return the path of a follow-up in the archive."""
    return layout.path_of(Key("follow_up", id_, archived=True))


def make_respelled() -> GoldenRepository:
    fields = text_of(loop("OL-1")).splitlines(keepends=True)
    two, three = (follow_up_text(id_) for id_ in ("FU-2", "FU-3"))
    return sides(
        "respelled", "the second side wrote listed fields, a table, and unlisted fields in another order",
        {**loop("OL-1"), live("FU-2"): f"{two}x = {{a = 1, b = 2}}\n", live("FU-3"): f"{three}b = 1\na = 1\n"},
        follow_up("FU-1", 1),
        {
            "open_loops/OL-1.toml": NOTE + "".join(reversed(fields)),
            live("FU-2"): f"{two}x = {{b = 2, a = 1}}\n", live("FU-3"): f"{three}a = 1\nb = 1\n",
        },
        revision=3,
    )  # fmt: skip


def make_exact_bytes() -> GoldenRepository:
    """Return a repository in which a comment shows which files are written anew.

    The first side removed FU-1, broke FU-2, has the winning value of FU-3, and the data of the second side in FU-4.
    Both sides archived the two loops; the second side did it earlier, with a comment, or with keys in another order.
    """
    texts = {id_: follow_up_text(id_) for id_ in ("FU-1", "FU-2", "FU-3", "FU-4")}
    edited = {id_: NOTE + follow_up_text(id_, "nobody") for id_ in texts}
    later, earlier = (
        {id_: archived_loop(id_, shard(id_), f"{day}T08:00:00Z") for id_ in ("OL-5", "OL-6")}
        for day in ("2026-11-03", "2026-11-02")
    )
    return sides(
        "exact-bytes", "comments show which files are written anew: one side removed, broken, contested, equal, or archived",
        {**{live(id_): text for id_, text in texts.items()}, **loop("OL-5"), **loop("OL-6")},
        {
            live("FU-1"): None, live("FU-2"): "id = \n", live("FU-3"): NOTE + follow_up_text("FU-3", "some reason"),
            live("FU-4"): edited["FU-4"], **later["OL-5"], **extended(later["OL-6"], "a = 1\nb = 1\n"),
        },
        {
            **{live(id_): edited[id_] for id_ in ("FU-1", "FU-2", "FU-3")}, live("FU-4"): follow_up_text("FU-4", "nobody"),
            **extended(earlier["OL-5"], NOTE), **extended(earlier["OL-6"], "b = 1\na = 1\n"),
        },
        revision=3,
    )  # fmt: skip


def extended(files: Files, end: str) -> Files:
    """Return the files with a text at the end of each file that is not removed."""
    return {path: text and text + end for path, text in files.items()}


def make_number_types() -> GoldenRepository:
    one, two = (follow_up_text(id_) for id_ in ("FU-1", "FU-2"))
    return sides(
        "number-types", "edits that only change the type of a number, in records that the other side archived",
        {live("FU-1"): f"{one}x = 1\n", live("FU-2"): f"{two}x = 2\n"},
        {
            live("FU-1"): None, closed("FU-1"): f"{FRAME}{one}x = 1\n",
            live("FU-2"): None, closed("FU-2"): f"{FRAME}{two}x = 1\n",
        },
        {live("FU-1"): f"{one}x = true\n", live("FU-2"): f"{two}x = 1.0\n"},
    )  # fmt: skip


def make_id_in_a_file() -> GoldenRepository:
    def identity(id_: str, count: int) -> str:
        return f'id = "{id_}"\n\n[mutable.state]\naccumulated_experience = {count}\n'

    return sides(
        "id-in-a-file", "the files of an identity have an id: it is ignored, and not written again",
        {"identity/zero.toml": identity("one", 1)}, {"identity/zero.toml": identity("two", 2)},
        {"identity/zero.toml": identity("one", 4), "identity/ada.toml": identity("zero", 1)},
    )  # fmt: skip


def make_immutable_fields() -> GoldenRepository:
    names = (
        "both-broke", "first-broke", "second-broke", "both-removed", "second-removed", "respelled", "second-changed",
        "archived", "emptied",
    )  # fmt: skip
    path = {name: f"identity/{name}.toml" for name in names}
    broken = "x = \n"

    def identity(statement: str, more: str) -> str:
        return f'[immutable.purpose]\nstatement = "{statement}"\n{more}'

    return sides(
        "immutable-fields", "what is set once was broken, removed, written in another order, changed, archived, or emptied",
        {file: identity("Guards", "x = 1\ny = 2\n") for file in path.values()},
        {path["both-broke"]: broken, path["first-broke"]: broken, path["both-removed"]: None},
        {
            path["both-broke"]: broken, path["second-broke"]: broken, path["both-removed"]: None, path["second-removed"]: None,
            path["respelled"]: NOTE + identity("Guards", "y = 2\nx = 1\n"),
            path["second-changed"]: NOTE + identity("Obeys", "x = 1\ny = 2\n"), path["archived"]: None,
            layout.path_of(Key("identity", "archived", archived=True)): f'{FRAME}id = "archived"\n', path["emptied"]: NOTE,
        },
    )  # fmt: skip


def conflict_text(id_: str, record: str, ours: str, theirs: str) -> str:
    return (
        f'id = "{id_}"\nrecord_kind = "follow_up"\nrecord_id = "{record}"\nfield = "reason"\nbase = "later"\n'
        f'ours = "{ours}"\ntheirs = "{theirs}"\nwinner = "ours"\n'
    )


def make_conflicts_of_a_side() -> GoldenRepository:
    smaller, larger = "nobody has time", "the release comes first"
    new = make_conflict("follow_up", "FU-1", ContestedValue("reason", (), (larger,), (smaller,), "ours"))
    return sides(
        "conflicts-of-a-side", "the first side has the conflict that the merge makes, with a comment; the second side has another one",
        {**follow_up("FU-1", 1), **follow_up("FU-2", 1)},
        {**follow_up("FU-1", 1, smaller), f"conflicts/{new.id}.toml": NOTE + conflict_text(new.id, "FU-1", larger, smaller)},
        {**follow_up("FU-1", 1, larger), "conflicts/C-1.toml": NOTE + conflict_text("C-1", "FU-2", "b", "a")},
        revision=3,
    )  # fmt: skip


def make_one_conflict_of_two_records() -> GoldenRepository:
    states = [
        {live("FU-1"): follow_up_text("FU-1", reason), closed("FU-1"): FRAME + follow_up_text("FU-1", reason_in_archive)}
        for reason, reason_in_archive in (("later", "once"), ("mine", "mine"), ("yours", "yours"))
    ]
    return sides("one-conflict-of-two-records", "a live and a closed record of one id have the same conflict, with other bases", *states)


def make_displaced() -> GoldenRepository:
    """Return a repository in which a live and a closed record of the base move to one place.

    Those with the id FU-2 have the same data, and differ only in the order of their keys.
    """

    def record(id_: str, title: str, more: str = "") -> str:
        return f'id = "{id_}"\nitem = "{title}"\nfirst_seen = "2026-11-01"\n{more}'

    return sides(
        "displaced", "two records of the base move to one place, and one of them gets a new id",
        {
            live("FU-1"): record("FU-1", "live"), closed("FU-1"): FRAME + record("FU-1", "older"),
            live("FU-2"): record("FU-2", "same", "a = 1\nb = 1\n"), closed("FU-2"): FRAME + record("FU-2", "same", "c = 1\n"),
        },
        {
            live("FU-1"): None, closed("FU-1.aaaaaa"): FRAME + record("FU-1", "live"),
            live("FU-2"): None, closed("FU-2.aaaaaa"): FRAME + record("FU-2", "same", "b = 1\na = 1\n"),
        },
        {
            closed("FU-1"): None, closed("FU-1.aaaaaa"): FRAME + record("FU-1", "older"),
            closed("FU-2"): None, closed("FU-2.aaaaaa"): FRAME + record("FU-2", "same", "a = 1\nb = 1\n"),
        },
    )  # fmt: skip


def make_long_ids() -> GoldenRepository:
    ids = ("a" * 190, "b" * 194, "é" * 33)

    def added(action: str, seconds: int) -> Files:
        metadata = 'agent_id = "ada"\nsession_id = "s"\nstarted_at = "2026-11-01"\nended_at = "2026-11-01"\n'
        loops = {layout.path_of(Key("open_loop", id_)): text_of(loop(id_, action)) for id_ in ids}
        return {**loops, f"checkpoints/ada/{'c' * 190}.toml": f"[metadata]\n{metadata}duration_seconds = {seconds}\n"}

    return sides(
        "long-ids", "both sides added other records under ids that are nearly too long", {}, added("Deployed X", 1), added("Deployed Y", 2)
    )


def make_order_of_texts() -> GoldenRepository:
    """Return a repository that shows which texts are compared as they are, and which by their canonical text."""

    def state(reasons: tuple[str, str], time: str, context: str, belief: str, evidence: str) -> Files:
        decision = f'id = "DEC-1"\nwhat = "Use X"\nwhy = "so"\ncreated_at = "2026-11-01"\nevidence = {evidence}\n'
        beliefs = f"[mutable]\nbeliefs = [{belief}]\n" if belief else ""
        return {
            **follow_up("FU-1", 1, reasons[0]), **follow_up("FU-2", 1, reasons[1]), "active_decisions/DEC-1.toml": decision,
            "baton.toml": f'updated_at = "{time}"\ncontext = "{context}"\n', "identity/zero.toml": beliefs,
        }  # fmt: skip

    closed_loops = [archived_loop("OL-1", shard("OL-1"), at) for at in ("2026-11-02", "2026-11-02!")]
    return sides(
        "order-of-texts", "texts in conflicts, times, frames, appended texts and lists of names, and an item that a list has twice",
        {**state(("o", "o"), "?", "b", "", "[]"), **loop("OL-1")},
        {**state(("a", "a"), "a\\n", "b\\na", '{subject = "a", confidence = 0.5}', '["x", "y", "x"]'), **closed_loops[0]},
        {**state(("a!", "a#"), "aA", "b\\na!", '{subject = "a#", confidence = 0.5}', '["z"]'), **closed_loops[1]},
    )  # fmt: skip


def make_handover_order() -> GoldenRepository:
    """Return a repository in which the merged order has a key that the second side removed, and lacks one it added."""
    path = "handover/run-1.txt"
    return sides(
        "handover-order", "the order of a run has a key that is gone, and lacks a new one",
        {path: "b: 1\nSESSION_ID: run-1\na: 1\n"}, {path: "c: 1\nSESSION_ID: run-1\nb: 1\na: 1\n"},
        {path: "a: 1\nSESSION_ID: run-1\nd: 1\n"},
    )  # fmt: skip


def make_too_large() -> GoldenRepository:
    """Return a repository with merges that exceed the size limits.

    The stored files are small: they have deep lists on one line. Written anew, each item gets a line of its own,
    indented by its depth.
    """

    def deep(name: str, items: int, item: int = 1) -> str:
        return f"{name} = {'[' * 50}{','.join([str(item)] * items)}{']' * 50}\n"

    text = {id_: follow_up_text(id_) for id_ in ("FU-1", "FU-2", "FU-3", "FU-4")}
    return sides(
        "too-large", "the merged record, one side, a conflict of records or a conflict of a field is too large for a file",
        {
            live("FU-1"): text["FU-1"], live("FU-2"): text["FU-2"], closed("FU-3"): FRAME + text["FU-3"],
            closed("FU-4"): FRAME + text["FU-4"] + deep("x", 1),
        },
        {
            live("FU-1"): text["FU-1"] + deep("x", 1500), live("FU-2"): text["FU-2"] + deep("x", 3000),
            closed("FU-3"): FRAME + text["FU-3"] + deep("x", 11000), closed("FU-4"): FRAME + text["FU-4"] + deep("x", 11000),
        },
        {
            live("FU-1"): text["FU-1"] + deep("y", 1500), live("FU-2"): text["FU-2"] + deep("a", 10),
            closed("FU-3"): FRAME + text["FU-3"] + deep("y", 11000), closed("FU-4"): FRAME + text["FU-4"] + deep("x", 11000, 2),
        },
    )  # fmt: skip


def make_modes_of_lines() -> GoldenRepository:
    lines = "".join(f"line {number}\n" for number in range(9))
    run = b"100755"
    return sides(
        "modes-of-lines", "both sides made a file executable and changed other lines of it; another one has two modes",
        {"run.sh": lines, "run": lines},
        with_mode(run, {"run.sh": lines.replace("line 1", "first"), "run": lines.replace("line 1", "first")}),
        {**with_mode(run, {"run.sh": lines.replace("line 7", "second")}), "run": lines.replace("line 7", "second")},
    )  # fmt: skip


def make_modes_of_taken() -> GoldenRepository:
    """Return a repository with modes of the second side: of a taken record, of a file that cannot be read and gets
    another id, and of a file with the same content as on the first side.
    """
    run = b"100755"
    renamed = {live("FU-2"): None, live("FU-2.aaaaaa"): follow_up_text("FU-2.aaaaaa")}
    return sides(
        "modes-of-taken", "the second side took other modes: of a record, of a file that cannot be read and is displaced, of a file with equal content",
        {**follow_up("FU-1", 1), **follow_up("FU-2", 1), "note": "text\n"}, {**renamed, "note": Mode(run, "text\n")},
        {
            **with_mode(run, {**follow_up("FU-1", 2), live("FU-2.aaaaaa"): "id = \n"}), "note": Mode(b"120000", "text\n"),
        },
        revision=3,
    )  # fmt: skip


def make_listed_fields_of_a_merge() -> GoldenRepository:
    """Return a repository in which the merge equals the record of the first side, which therefore keeps its comment."""
    path = "handoffs/claude/s1.toml"

    def handoff(day: int, goal: str) -> str:
        return f'extracted_at = "2026-11-0{day}"\nnotes = "n"\n\n[facts]\ninitial_goal = "{goal}"\n'

    return sides(
        "listed-fields-of-a-merge", "a merge that takes fields in another order than the page equals the record of the first side",
        {path: handoff(1, "a")}, {path: NOTE + handoff(3, "c")}, {path: handoff(2, "b")}, revision=3,
    )  # fmt: skip


def make_author_times() -> GoldenRepository:
    base = Commit("base", ("root",), loop("OL-1"), 1)
    return GoldenRepository(
        "author-times", "the time of the merge is the later author's, not the later committer's",
        (
            root(), base, Commit("first", ("base",), loop("OL-2"), 2, START + 5, committed=START + 60),
            Commit("second", ("base",), loop("OL-3"), 2, START + 9, committed=START + 30),
        ),
    )  # fmt: skip


def make_modes_of_roots() -> GoldenRepository:
    """Return a repository with unrelated histories, in which `.gitattributes` has the same content and two modes."""
    executable = {**layout.ROOT_FILES, layout.ATTRIBUTES_FILE: b""}
    old = root("old", executable)
    old = old._replace(files={**old.files, layout.ATTRIBUTES_FILE: Mode(b"100755", layout.ROOT_FILES[layout.ATTRIBUTES_FILE].decode())})
    return GoldenRepository(
        "modes-of-roots", "unrelated histories whose first commits have the same files with other modes",
        (root(), old, Commit("first", ("root",), loop("OL-1"), 2), Commit("second", ("old",), loop("OL-2"), 1, START + 60)),
    )  # fmt: skip


def make_side_copies() -> GoldenRepository:
    """Return a repository in which the name for the second copy of a file is taken, by another or by the same file."""
    names = ("another", "same", "folder")
    texts = {name: (f"first {name}\n", f"second {name}\n") for name in names}
    copies = {}
    for name, pair in texts.items():
        ids = {sha1(f"blob {len(text)}\0{text}".encode()).hexdigest(): text for text in pair}
        copies[name] = (f"{name}.{min(ids)[:8]}", ids[min(ids)])
    first = {name: pair[0] for name, pair in texts.items()}
    second = {name: pair[1] for name, pair in texts.items()}
    return sides(
        "side-copies", "the name for the second copy of a file belongs to another file, to the same one, and to a folder",
        dict.fromkeys(names, "base\n"), {**first, copies["another"][0]: "another\n"},
        {**second, copies["same"][0]: copies["same"][1], f"{copies['folder'][0]}/x": "inner\n"},
    )  # fmt: skip


def make_in_the_way() -> GoldenRepository:
    """Return a repository in which files and folders of the first side are in the way of files of the second side.

    `emptied` loses its only file, `kept` does not, `follow_ups` loses only a record, `file` becomes a folder, and
    `contested` is a folder on the first side and a changed file on the second one.
    """
    return sides(
        "in-the-way", "folders that become empty or not, a file that becomes a folder, and a conflict about a file that gets another name",
        {"emptied/x": "1\n", "kept/x": "1\n", **follow_up("FU-1", 1), "file": "1\n", "contested": "1\n"},
        {"kept/x": "2\n", "file": "2\n", "contested": None, "contested/x": "2\n"},
        {
            "emptied/x": None, "emptied": "file\n", "kept/x": None, "kept": "file\n", live("FU-1"): None, "follow_ups": "file\n",
            "file": None, "file/x": "inner\n", "contested": "3\n",
        },
        revision=3,
    )  # fmt: skip


def make_trailer_details() -> GoldenRepository:
    base = Commit("base", ("root",), loop("OL-1"), 1)
    return GoldenRepository(
        "trailer-details", "an empty subject; a revision in the subject, or with a blank or a CR at the end; lines that are no trailers",
        (
            root(), base,
            Commit("first", ("base",), loop("OL-2"), None, message="\n\nBaton-Revision: 2\n"),
            Commit("x", ("base",), loop("OL-3"), None, message="x\n\nBaton-Revision: 8 \n"),
            Commit("y", ("x",), loop("OL-4"), None, message="y\nBaton-Revision: 8\r\n"),
            Commit("z", ("y",), loop("OL-5"), None, message="Baton-Revision: 8\n"),
            Commit(
                "second", ("z",), {}, None, START + 60,
                "second\nx\vBaton-Revision: 8\n Baton-Revision: 8\nbaton-revision: 8\nBaton-Revision:8\nBaton-Revision-2: 8\nBaton-Revision: 9\u2028\n",
            ),
        ),
    )  # fmt: skip


# --- layout 2

SECOND_LAYOUT: Files = {
    layout.FORMAT_FILE: stored_form.raise_version(layout.ROOT_FILES[layout.FORMAT_FILE]).decode(),
    layout.ATTRIBUTES_FILE: add_attributes(layout.ROOT_FILES[layout.ATTRIBUTES_FILE]).decode(),
}


def fanned(files: Files) -> Files:
    """Return the files with the live records in their places in fanned out folders."""
    places = {path: stored_form.find_place(path) for path in files}
    stored = {path: place and stored_form.find_fanned_path(place.kind, place.path) for path, place in places.items()}
    return {f"{path.split('/')[0]}/{stored[path]}": text for path, text in files.items()}


def closed_loop(id_: str, reason: str = "done") -> Files:
    files = archived_loop(id_, shard(id_), "2026-11-02T08:00:00Z", reason)
    return {path: text for path, text in files.items() if text is not None}


def bundled(digits: str, *ids: str) -> Files:
    """Return the bundle of closed loops with these digits; the files of their own are removed."""
    files = {f"{id_}.toml": next(iter(closed_loop(id_).values())).encode() for id_ in ids}
    gone = {path: None for id_ in ids for path in closed_loop(id_)}
    name = stored_form.name_bundle(digits)
    return {f"archive/open_loops/=2026-11/{name}": stored_form.join_bundle(files).decode(), **gone}


def make_fanned_out() -> GoldenRepository:
    base = {**loop("OL-1"), **loop("OL-2"), **loop("OL-3")}
    return sides(
        "layout2-fanned-out", "one side fanned a folder out, the other changed, added and removed records in it",
        base,
        {**SECOND_LAYOUT, **dict.fromkeys(base), **fanned({**base, **loop("OL-1", "Deployed X")})},
        {**loop("OL-1", "Deployed", status="verified"), **loop("OL-4"), "open_loops/OL-3.toml": None},
    )  # fmt: skip


def make_bundled() -> GoldenRepository:
    ids = ("OL-1", "OL-2", "OL-3", "OL-4")
    base = {path: text for id_ in ids for path, text in closed_loop(id_).items()}
    return sides(
        "layout2-bundled", "both sides moved archived records into bundles, and one changed another record",
        base,
        {**SECOND_LAYOUT, **bundled("", "OL-1", "OL-2"), **closed_loop("OL-4", "verified")},
        {**SECOND_LAYOUT, **bundled("", "OL-2", "OL-3", "OL-4")},
    )  # fmt: skip


def make_split_bundles() -> GoldenRepository:
    ids = [f"OL-{number}" for number in range(1, 9)]
    base = {path: text for id_ in ids for path, text in closed_loop(id_).items()}
    digits = stored_form.digits_of(ids[0])[0]
    inside = [id_ for id_ in ids if stored_form.digits_of(id_).startswith(digits)]
    return sides(
        "layout2-split", "one side has a bundle of all records, the other one of those with one digit",
        base, {**SECOND_LAYOUT, **bundled("", *ids[:5])}, {**SECOND_LAYOUT, **bundled(digits, *inside)},
    )  # fmt: skip
