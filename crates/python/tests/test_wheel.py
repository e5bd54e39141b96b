"""What is in a wheel."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


@pytest.mark.timeout(600)
def test_a_wheel_holds_what_is_listed(tmp_path: Path) -> None:
    """One of a build for development, which is there already where these tests run."""
    maturin = Path(sys.executable).with_name("maturin")
    if not maturin.exists() or not shutil.which("cargo"):
        assert os.environ.get("CI") != "true"
        pytest.skip("maturin and cargo make a wheel")
    words = ["--interpreter", sys.executable, "--compatibility", "linux", "--compression-method", "stored", "--out", tmp_path]
    subprocess.run([maturin, "build", "--quiet", "--locked", "--profile", "dev", *words], cwd=ROOT / "crates/python", check=True)
    (wheel,) = tmp_path.glob("*.whl")
    checked = subprocess.run([sys.executable, ROOT / "scripts/check_wheel.py", wheel, "--any-size"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
