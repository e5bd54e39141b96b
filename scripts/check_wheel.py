"""Whether a wheel holds what it should, and nothing else.

    python scripts/check_wheel.py target/wheels/sched_distill-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl [--any-size]

`--any-size` is for a wheel of a build that is not optimised.
"""

import sys
import zipfile
from pathlib import Path

#: Largest wheel, bytes.
MOST = 20_000_000

#: What people import, and what that is made of.
PACKAGE = """
    __init__.py __main__.py _choice.py _console.py _core.abi3.so _core.pyi _decoder.py _errors.py _progress.py _run.py _sklearn.py
    _terms.py _trees.py commands.py envs.py estimators.py explainers.py policies.py py.typed recorder.py results.py scenarios.py
    student.py table.py
"""

#: The folder of the metadata.
METADATA = """
    METADATA RECORD WHEEL entry_points.txt licenses/LICENSE-APACHE licenses/LICENSE-MIT sboms/sched-distill-python.cyclonedx.json
"""


def main() -> None:
    """Says what is wrong, and ends with 1 if something is."""
    path, *options = sys.argv[1:]
    wheel = Path(path)
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        entry_points = next((opened.read(name).decode() for name in names if name.endswith("entry_points.txt")), "")
    version = wheel.name.split("-")[1]
    wanted = {f"sched_distill/{name}" for name in PACKAGE.split()}
    wanted |= {f"sched_distill-{version}.dist-info/{name}" for name in METADATA.split()}
    wrong = [f"{name} is missing" for name in sorted(wanted - names)]
    wrong += [f"{name} is not to be there" for name in sorted(names - wanted)]
    if "distill=sched_distill._console:main" not in entry_points.replace(" ", ""):
        wrong.append("no command `distill`")
    if "-cp311-abi3-" not in wheel.name:
        wrong.append(f"{wheel.name}: not for the stable ABI of 3.11")
    size = wheel.stat().st_size
    if size > MOST and "--any-size" not in options:
        wrong.append(f"{size / 1e6:.1f} MB, at most {MOST / 1e6:.0f} are allowed")
    print(f"{wheel.name}: {size / 1e6:.1f} MB, {len(names)} files")
    sys.exit("\n".join(wrong) if wrong else 0)


main()
