#!/usr/bin/env bash
# Makes reports/demo: the demo, the front of sizes, and the report of both, in two minutes.
#   scripts/report_example.sh [DISTILL]     the program; by default the release build of this checkout
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
distill=${1:-target/release/distill}
teacher=decima
run=runs/example

rm -rf $run
# Fewer single decisions keep the page small.
"$distill" demo --teacher $teacher -o $run
"$distill" front $run/traces/train --validation $run/traces/validation -o $run --max-size 32 --max-choices 5000 \
    --learner tree,linear-tree,spline-logit -t $teacher -n 10
"$distill" explain $run/student.json $run/traces/test --run $run --decisions 45
"$distill" report $run -o $run/report

rm -rf reports/demo
mkdir -p reports/demo
cp -r $run/report/report.html $run/report/model_card.md $run/report/charts reports/demo/
