#!/usr/bin/env python3
"""Asks `distill serve` what the plugin was asked, and compares answers.

    spark/check_log.py LOG STUDENT PROGRAM

LOG is what the plugin wrote in mode `decide` (`spark.distill.log`). Ends with 1 if an answer differs.
"""

import json
import subprocess
import sys
import tempfile


def main() -> int:
    log, student, program = sys.argv[1:]
    asked, did = [], []
    for text in open(log):
        line = json.loads(text)
        if "state" in line:
            did.append(line.pop("did"))
            asked.append(json.dumps({**line, "scores": False}))
    with tempfile.TemporaryFile("w+") as file:
        file.write("\n".join(asked) + "\n")
        file.seek(0)
        command = [program, "serve", "--policy", f"student:{student}", "--quiet"]
        answers = subprocess.run(command, stdin=file, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    decided = [answer for answer in map(json.loads, answers) if answer.get("type") in ("answer", "error")]
    if len(decided) != len(did):
        print(f"{len(did)} rounds, {len(decided)} answers of {program}", file=sys.stderr)
        return 1
    for number, (answer, plugin) in enumerate(zip(decided, did, strict=True), 1):
        if answer.get("decisions") != plugin:
            print(f"round {number}: the plugin did {plugin}, {program} answers {answer}", file=sys.stderr)
            return 1
    print(f"decisions: the same as those of distill serve in {len(did)} rounds of {log}, {sum(map(len, did))} decisions")
    return 0 if did else 1


if __name__ == "__main__":
    sys.exit(main())
