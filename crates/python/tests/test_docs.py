"""What the pages of `docs/python` and the README show is run: all blocks of a page, one after the other."""

import re
from pathlib import Path

import pytest
from conftest import ROOT

PAGES = sorted((ROOT / "docs/python").glob("*.md"))

#: A block of Python, and what stands before it where it is not to be run.
BLOCK = re.compile(r"(<!-- not run: [^>]*-->\n)?```python\n(.*?)```", re.DOTALL)

#: What a page needs beside numpy.
NEEDS = {"environments.md": ["gymnasium"], "README.md": ["polars"], "estimators.md": ["sklearn"], "shapley.md": ["sklearn"]}


@pytest.mark.filterwarnings("ignore:.*A Box observation space")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDS.get(page.name, []):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    blocks = [(before, code) for before, code in BLOCK.findall(page.read_text(encoding="utf-8"))]
    assert blocks, "a page without an example"
    names: dict[str, object] = {"__name__": page.stem}
    for before, code in blocks:
        compiled = compile(code, str(page), "exec")
        if not before:
            exec(compiled, names)


def test_the_section_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a new user would: the lines of Python in the README's section, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda address: None)
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## From Python")[1].split("\n## ")[0]
    blocks = [code for _, code in BLOCK.findall(section)]
    assert blocks
    exec(compile("\n".join(blocks), "README.md", "exec"), {"__name__": "readme"})
    assert list(tmp_path.rglob("report/*.html"))
