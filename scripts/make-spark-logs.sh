#!/usr/bin/env bash
# Event logs of small applications on a real Spark, as crates/histories/tests/own_logs.rs reads them; or one of 400 queries that overlap,
# long enough to be cut by time.
#
#   scripts/make-spark-logs.sh [SCRATCH]
#   scripts/make-spark-logs.sh --queries DIR [SCRATCH]
#
#     --queries DIR   run 400 queries of users who share a Spark of two cores, which takes ten minutes, and put its event log into DIR
#     SCRATCH   where packages, virtual environments and raw logs go (default: target/spark-logs)
#
# Downloads PySpark 3.5.3 and 4.3.0 (770 MB) with pip, by exact SHA-256, and what it needs, into SCRATCH/packages, once; a package
# that lies there is not downloaded. Installed they take 900 MB. Runs scripts/spark_logs.py with each way of writing a log, and puts
# cleaned logs and what is to be found in them (expected.json) into crates/histories/tests/logs. Needs Python 3.11 or newer
# with venv, and Java 17 or newer; uses two cores for some six minutes. Times, and so bytes and figures, differ from run to run.
set -euo pipefail

case ${1:-} in -h|--help) sed -n '2,/^set -/p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//'; exit 0 ;; esac
queries=''
if [[ ${1:-} == --queries ]]; then
    queries=${2:?--queries needs the folder of the log}
    shift 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
scratch=${1:-$here/target/spark-logs}
fail() { echo "make-spark-logs: $*" >&2; exit 1; }

# version, SHA-256 of the source package, the py4j that it asks for
versions=(
    "3.5.3 68b7cc0c0c570a7d8644f49f40d2da8709b01d30c9126cc8cf93b4f84f3d9747 0.10.9.7"
    "4.3.0 e8c517948eff7088a7aa07449aa8eafa4a15a8d50319de2525a6fd26622476c6 0.10.9.9"
)
# The queries are run by the last of them.
[[ -z $queries ]] || versions=("${versions[@]: -1}")

for tool in python3 java sha256sum; do command -v "$tool" >/dev/null || fail "$tool is not installed"; done
mkdir -p "$scratch/packages"
scratch=$(cd "$scratch" && pwd -P)
packages=$scratch/packages
pip=(-m pip --quiet --disable-pip-version-check --no-cache-dir)

for entry in "${versions[@]}"; do
    read -r version sum py4j <<<"$entry"
    venv=$scratch/venv-$version
    [[ -f $venv/complete ]] && continue
    file=pyspark-$version.tar.gz
    if ! echo "$sum  $packages/$file" | sha256sum --check --status 2>/dev/null; then
        echo "make-spark-logs: downloading PySpark $version" >&2
        echo "pyspark==$version --hash=sha256:$sum" >"$packages/pyspark-$version.txt"
        python3 "${pip[@]}" download --no-deps --no-binary=:all: --require-hashes --dest "$packages" \
            --requirement "$packages/pyspark-$version.txt"
    fi
    [[ -f $(echo "$packages/py4j-$py4j"-*.whl) ]] ||
        python3 "${pip[@]}" download --no-deps --only-binary=:all: --dest "$packages" "py4j==$py4j"
    [[ -f $(echo "$packages"/setuptools-80.9.0-*.whl) ]] ||
        python3 "${pip[@]}" download --no-deps --only-binary=:all: --dest "$packages" setuptools==80.9.0 wheel==0.45.1
    echo "make-spark-logs: installing PySpark $version" >&2
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" "${pip[@]}" install --no-index --find-links "$packages" setuptools==80.9.0 wheel==0.45.1
    TMPDIR=$scratch "$venv/bin/python" "${pip[@]}" install --no-index --no-build-isolation --find-links "$packages" \
        "$packages/$file"
    touch "$venv/complete"
done

if [[ -n $queries ]]; then
    SPARK_LOCAL_HOSTNAME=host-1 SPARK_USER=user SPARK_LOCAL_DIRS=$scratch/local PYSPARK_PYTHON=$venv/bin/python \
        "$venv/bin/python" "$here/scripts/spark_logs.py" queries "$queries" 400 2>"$scratch/queries.err" ||
        { tail -n 30 "$scratch/queries.err" >&2; fail "the queries did not end"; }
    exit 0
fi

logs=$here/crates/histories/tests/logs
mkdir -p "$logs"
for entry in "${versions[@]}"; do
    read -r version _ <<<"$entry"
    python=$scratch/venv-$version/bin/python
    for log in $("$python" "$here/scripts/spark_logs.py" list "$version"); do
        echo "make-spark-logs: $log" >&2
        nice "$python" "$here/scripts/spark_logs.py" make "$log" "$scratch/raw" "$logs" 2>"$scratch/$log.err" ||
            { tail -n 30 "$scratch/$log.err" >&2; fail "$log was not made"; }
    done
done
"$python" "$here/scripts/spark_logs.py" figures "$logs" 2>"$scratch/figures.err" ||
    { tail -n 30 "$scratch/figures.err" >&2; fail "the figures were not made"; }
du --apparent-size --summarize --bytes "$logs"/* >&2
