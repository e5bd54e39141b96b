"""What becomes of the interpreter: signals, memory, damaged files, and the command `distill`."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sched_distill as sd
from conftest import TINY, shared

SCRIPT = Path(sys.executable).with_name("distill")


def python(code: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **more)


def test_importing_changes_no_handler_and_needs_numpy_alone() -> None:
    code = """
import signal, sys
def handlers():
    # The C library has two of its own, 32 and 33, for threads.
    caught = int(open("/proc/self/status").read().split("SigCgt:")[1].split()[0], 16) & ~(3 << 31)
    return [signal.getsignal(n) for n in sorted(signal.valid_signals())], caught
before = handlers()
import sched_distill
sched_distill.simulate(policy="fair", workload="builtin,jobs=3", episodes=1)
assert before == handlers()
others = {"gymnasium", "torch", "sklearn", "pandas", "polars", "matplotlib"} & set(sys.modules)
assert not others, others
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_the_command_is_the_program(tmp_path: Path) -> None:
    told = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True)
    assert told.stdout == f"distill {sd.__version__}\n" and told.returncode == 0
    wrong = subprocess.run([SCRIPT, "fit", "nowhere", "-o", "s.json"], capture_output=True, text=True, cwd=tmp_path)
    assert wrong.returncode == 2 and "nowhere: cannot read" in wrong.stderr and wrong.stdout == ""
    listed = subprocess.run([SCRIPT, "list", "policies"], capture_output=True, text=True)
    assert "python:NAME" in listed.stdout
    piped = subprocess.run(f"{SCRIPT} list features | head -1", shell=True, capture_output=True, text=True)
    assert piped.returncode == 0 and piped.stderr == ""


def test_ctrl_c_ends_the_command_in_good_order(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [SCRIPT, "record", "-p", "decima", "-n", "4000", "-o", tmp_path / "trace"], stderr=subprocess.PIPE, text=True
    )
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert running.returncode == 130 and "interrupted; finished parts are kept" in err


def test_ctrl_c_raises_in_a_script_and_leaves_it_usable(tmp_path: Path) -> None:
    code = f"""
import os, signal, threading, time
import sched_distill as sd
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    sd.record(policy="decima", workload="builtin", episodes=4000, output={str(tmp_path / "trace")!r})
except KeyboardInterrupt:
    assert time.monotonic() - start < 10
    sd.simulate(policy="fair", workload={TINY!r}, episodes=1)
    print("goes on")
"""
    done = python(code)
    assert done.stdout == "goes on\n", done.stderr


def test_too_little_memory_raises_and_the_interpreter_goes_on() -> None:
    code = """
import resource
import sched_distill as sd
sd.simulate(policy="fair", workload="builtin,jobs=3", episodes=1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20), resource.RLIM_INFINITY))
try:
    sd.simulate(policy="fair", workload="builtin,jobs=200000,rate=1e-2", episodes=2)
except MemoryError as error:
    assert "not enough memory" in str(error), error
    try:
        sd.simulate(policy="fair", workload="builtin,jobs=3", episodes=1)
    except MemoryError:
        print("still here", sum(range(10)))
"""
    done = python(code)
    assert done.stdout == "still here 45\n", (done.returncode, done.stderr[-2000:])


def test_a_forked_process_works_unless_the_one_before_it_had_threads() -> None:
    code = f"""
import multiprocessing
import sched_distill as sd
from sched_distill._core import Episodes
context = multiprocessing.get_context("fork")
def simulate():
    return sd.simulate(policy="fair", workload={TINY!r}, episodes=1).episodes
def episodes():
    return Episodes("dag", {TINY!r}, "train", 1, 64, (False, False, True)).begin(0, 1, 0)[5]
def tell(there, work):
    try:
        there.send(work())
    except RuntimeError as error:
        there.send(str(error))
def told(work):
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=tell, args=(there, work))
    child.start()
    answer = here.recv() if here.poll(20) else "nothing"
    child.kill()
    child.join()
    return answer
assert told(simulate) == 1
# One environment needs no threads that stay.
episodes()
assert [told(simulate), told(episodes)] == [1, False]
simulate()
for work in (simulate, episodes):
    assert "was forked from one that had worked with sched_distill" in told(work), work
assert simulate() == 1
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_forked_processes_share_the_folder_that_goes_with_the_first() -> None:
    code = """
import os, sys
from sched_distill._run import scratch
first = scratch("a")
child = os.fork()
scratch("b").write_text("own")
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0 and first.parent.is_dir()
print(first.parent)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).parent.exists()


@pytest.mark.parametrize("name", ["parquet-varint-abort", "parquet-varint-panic", "parquet-seal-panic"])
def test_damaged_tables_do_no_damage(name: str, tmp_path: Path) -> None:
    """A child process decodes them first: what ends it does not end this interpreter."""
    folder = shared(f"hostile/{name}")
    manifests = sorted(folder.rglob("manifest.json"))
    assert manifests, list(folder.rglob("*"))
    for manifest in manifests:
        copy = tmp_path / name / str(manifests.index(manifest))
        shutil.copytree(manifest.parent, copy)
        for path in [copy, *copy.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        with pytest.raises(sd.DistillError):
            sd.inspect(copy, seal=True)


def test_the_decoder_is_started_as_another_process(tmp_path: Path) -> None:
    from sched_distill import _decoder

    sd.record(policy="fair", workload=TINY, episodes=1, output=tmp_path / "trace")
    command = _decoder.command()
    assert command is not None and command[0] == sys.executable
    table = next((tmp_path / "trace/job").glob("*.parquet"))
    assert subprocess.run([*command, table], env={**os.environ, "PYTHONPATH": "/nowhere"}).returncode == 0
    table.write_bytes(table.read_bytes()[:100])
    refused = subprocess.run([*command, table], capture_output=True, text=True)
    assert refused.returncode == 2 and refused.stderr and "Traceback" not in refused.stderr
