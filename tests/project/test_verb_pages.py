"""The files generated from the table of verbs are up to date, and the example of the library works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from verb_pages import PAGE, STUB, TOP, make_page, make_stub

HOW = "generate it again: python tests/project/verb_pages.py"


def test_the_stub_of_the_library_is_up_to_date() -> None:
    assert STUB.read_text(encoding="utf-8") == make_stub(), HOW


def test_the_reference_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == make_page(), HOW


def test_the_examples_of_the_library_run(tmp_path: Path) -> None:
    page = (TOP / "docs" / "library.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    code = "\n".join(blocks)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
