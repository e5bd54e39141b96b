"""Whether a wheel holds what it should, and nothing else.

    python scripts/check_wheel.py target/wheels/sched_distill-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl

Its files are those of the package's folder, the extension, and the metadata: licences, entry points, a software bill of materials.
"""

import sys
import zipfile
from pathlib import Path

#: Largest wheel, bytes.
MOST = 20_000_000

SOURCE = Path(__file__).parents[1] / "crates/python/python/sched_distill"


def main() -> None:
    """Says what is wrong, and ends with 1 if something is."""
    path = Path(sys.argv[1])
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        entry_points = next((wheel.read(name).decode() for name in names if name.endswith("entry_points.txt")), "")
    package = {f"sched_distill/{file.name}" for file in SOURCE.iterdir() if file.suffix in (".py", ".pyi") or file.name == "py.typed"}
    package.add("sched_distill/_core.abi3.so")
    info = {name for name in names if ".dist-info/" in name}
    wrong = [f"{name} is missing" for name in sorted(package - names)]
    wrong += [f"{name} is not to be there" for name in sorted(names - package - info)]
    wanted = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE-APACHE", "licenses/LICENSE-MIT", "sboms/")
    wrong += [f"no {part} in the metadata" for part in wanted if not any(f".dist-info/{part}" in name for name in info)]
    if "distill=sched_distill._console:main" not in entry_points.replace(" ", ""):
        wrong.append("no command `distill`")
    if "-cp311-abi3-" not in path.name:
        wrong.append(f"{path.name}: not for the stable ABI of 3.11")
    size = path.stat().st_size
    if size > MOST:
        wrong.append(f"{size / 1e6:.1f} MB, at most {MOST / 1e6:.0f} are allowed")
    print(f"{path.name}: {size / 1e6:.1f} MB, {len(names)} files")
    sys.exit("\n".join(wrong) if wrong else 0)


main()
