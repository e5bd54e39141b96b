#!/usr/bin/env python3
"""Runs the notebooks on small data, and checks that they are stored without outputs.

    pip install ipykernel==7.4.0 matplotlib==3.11.2 nbclient==0.11.0 nbformat==5.11.1 numpy==2.4.6 polars==2.1.0 ./crates/python
    python scripts/run_notebooks.py [--keep DIR]
    python scripts/run_notebooks.py --strip

Each notebook runs from its first cell to its last in a directory of its own, which is removed afterwards; an error in a
cell fails. `--keep` writes the notebooks with their outputs. `--strip` removes outputs from the stored ones.
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

import nbclient
import nbformat

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def stripped(text):
    """A notebook as it is stored: without outputs and whatever else running it leaves behind."""
    notebook = nbformat.reads(text, as_version=4)
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nbformat.writes(notebook) + "\n"


def run(path, keep):
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DISTILL_RUN": f"{folder}/run", "JUPYTER_RUNTIME_DIR": f"{folder}/jupyter"}
        client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}})
        # Not the warning that other users of the machine could listen to the kernel's sockets.
        client.extra_arguments = ["--log-level=ERROR"]
        try:
            client.execute()
        except nbclient.exceptions.CellExecutionError as error:
            return str(error)
        finally:
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                nbformat.write(notebook, keep / path.name)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", metavar="DIR", type=pathlib.Path)
    parser.add_argument("--strip", action="store_true")
    args = parser.parse_args()
    if args.strip:
        for path in NOTEBOOKS:
            path.write_text(stripped(path.read_text()))
        return
    problems = 0
    for path in NOTEBOOKS:
        start = time.perf_counter()
        problem = run(path, args.keep)
        if not problem and path.read_text() != stripped(path.read_text()):
            problem = "has outputs, or is not as nbformat writes it; python scripts/run_notebooks.py --strip"
        print(f"{path.name}: {problem or f'ok, {time.perf_counter() - start:.0f} s'}")
        problems += problem is not None
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
