"""Who orders the stages: Spark itself, rules in the plugin, a network over a socket, students."""

import hashlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Policy:
    """One of the experiment: its name in tables, what it is, and how distill calls the same."""

    name: str
    # shipped, rule, network, student or own, which is the student of the experiment.
    kind: str
    settings: dict[str, str] = field(default_factory=dict)
    # What the plugin is told to ask; none where it is not there.
    student: str | None = None
    # What a server on a socket answers by.
    served: str | None = None
    # The policy in the simulator; none where there is none.
    simulated: str | None = None

    def student_hash(self) -> str | None:
        """Of the student's file, if that is one."""
        path = Path(self.student) if self.student else None
        return hashlib.sha256(path.read_bytes()).hexdigest() if path and path.is_file() else None

    @property
    def adaptive(self) -> bool:
        """Whether plans change while queries run."""
        return self.settings.get("spark.sql.adaptive.enabled") != "false"

    @property
    def pools(self) -> bool:
        """Whether each query has a pool of its own: all of one are served in order of arrival."""
        return self.settings.get("spark.scheduler.mode") == "FAIR"


PLAIN = {"spark.sql.adaptive.enabled": "false"}
FAIR = {"spark.scheduler.mode": "FAIR"}
FIFO, FEWEST, FITTED = "Spark FIFO", "fewest tasks left", "fitted student"


def policies(work: Path) -> list[Policy]:
    """All that take part; the first is what others are compared with."""
    fitted, builtin = work / "run/student.json", work / "builtin/student.json"
    return [
        Policy(FIFO, "shipped", simulated="fifo,by=stage"),
        Policy("Spark FIFO, not adaptive", "shipped", PLAIN),
        Policy("Spark FAIR", "shipped", FAIR, simulated="fair,by=running"),
        Policy("Spark FAIR, not adaptive", "shipped", {**PLAIN, **FAIR}),
        Policy(FEWEST, "rule", student="rule:fewest-tasks", simulated="sjf,by=tasks"),
        Policy("least work left", "rule", student="rule:least-work", simulated="sjf"),
        Policy("built-in Decima", "network", served="decima", simulated="decima"),
        Policy("its student", "student", student=str(builtin), simulated=f"student:{builtin}"),
        Policy(FITTED, "own", student=str(fitted), simulated=f"student:{fitted}"),
    ]


@contextmanager
def plugin(policy: Policy, distill: Path, profile: Path) -> Iterator[dict[str, str]]:
    """Settings of an application under a policy; a server runs meanwhile where one is asked."""
    if policy.student is None and policy.served is None:
        yield policy.settings
        return
    with tempfile.TemporaryDirectory() as folder:
        # Each run begins with the same profile, and leaves it as it was.
        own, metrics = Path(folder) / "profile.json", Path(folder) / "metrics"
        metrics.mkdir()
        if profile.exists():
            own.write_bytes(profile.read_bytes())
        settings = {
            **policy.settings,
            "spark.plugins": "distill.Plugin",
            "spark.distill.mode": "decide",
            "spark.distill.profile": str(own),
            "spark.metrics.conf.driver.sink.csv.class": "org.apache.spark.metrics.sink.CsvSink",
            "spark.metrics.conf.driver.sink.csv.directory": str(metrics),
            "spark.metrics.conf.driver.sink.csv.period": "3600",
        }
        if policy.served is None:
            yield {**settings, "spark.distill.student": policy.student}
            return
        socket = Path(folder) / "socket"
        # Spark keeps all processors busy; who may, lets the server come first. Others are told that they may not, and go on.
        command = ["nice", "-n", "-10", distill, "serve", "--policy", policy.served, "--listen", f"unix:{socket}", "--quiet"]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 20
            while not socket.exists() and time.monotonic() < until:
                time.sleep(0.05)
            yield {**settings, "spark.distill.student": f"unix:{socket}"}
        finally:
            server.terminate()
            server.wait()


def counts(settings: dict[str, str]) -> dict[str, int]:
    """What the plugin counted in an application that has ended: by metric, none where it was not there."""
    folder = settings.get("spark.metrics.conf.driver.sink.csv.directory")
    found = {}
    for file in Path(folder).glob("*distill.Plugin.*.csv") if folder else ():
        lines = file.read_text().split()
        if lines[0] == "t,count":
            found[file.name.split(".")[-2]] = int(lines[-1].split(",")[1])
    return found
