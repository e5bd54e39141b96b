#!/usr/bin/env bash
# Tests of the plugin: spark/test.sh [--quick | --offers] [VERSION ...]
# Each version of Spark is taken from the Python registry (0.4 GB each, kept under target/spark). The same jar runs with all of them: in one process, with
# executors of their own, and under a master with two workers; queries of TPC-H have the same rows with it as without, and what it logs of a busy application
# is the same to distill. --quick leaves the last three out. --offers tests nothing: it says how long offers take where 30 jobs have 200 stages that wait.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
quick= offers=
case ${1:-} in
    --quick) quick=1; shift ;;
    --offers) offers=1; shift ;;
esac
versions=("$@")
((${#versions[@]})) || versions=(3.5.9 4.0.5 4.1.4 4.2.1 4.3.0)

student=$PWD/tests/compat/dag/student.json
# Is asked over a socket, if it was built: the newest one.
program=$(ls -t "$PWD"/target/{release,debug}/distill 2>/dev/null | head -1 || true)
jar=$PWD/target/spark/distill-spark.jar
tests=$PWD/target/spark/tests
# What Spark's own scripts open of the JDK.
opens=()
for package in java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent java.util.concurrent.atomic \
    jdk.internal.ref sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar; do
    opens+=("--add-opens=java.base/$package=ALL-UNNAMED")
done

home() { echo "$PWD/target/spark/$1"/lib/python3*/site-packages/pyspark; }

# rows VERSION ARGUMENT... : what queries of TPC-H give
rows() {
    local bin=$PWD/target/spark/$1/bin; shift
    env -u SPARK_HOME PATH="$bin:$PATH" PYSPARK_PYTHON="$bin/python3" "$bin/spark-submit" --master 'local[4]' --driver-memory 2g \
        --driver-java-options "-Dlog4j2.configurationFile=$PWD/spark/tests/log4j2.properties" "$@" \
        spark/queries.py target/spark/tpch --queries 40 --gap 0.5 2>>"$log"
}

# run VERSION CLASS ARGUMENT...
run() {
    local home; home=$(home "$1"); shift
    local scala=2.13; [[ -e $(echo "$home"/jars/scala-library-2.12.*) ]] && scala=2.12
    SPARK_HOME=$home SPARK_SCALA_VERSION=$scala java "${opens[@]}" -Dlog4j2.configurationFile="$PWD/spark/tests/log4j2.properties" \
        -Ddistill.executor.classes="$tests:$jar" -Ddistill.program="$program" -cp "$tests:$jar:$home/jars/*" "$@"
}

# under_master VERSION CORES NICENESS CLASS ARGUMENT... : under a master and two workers, as nice as said, on the loopback device
under_master() {
    local version=$1 cores=$2 nice=$3 class=$4; shift 4
    local port work daemons failed=0
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    work=$(mktemp -d)
    run "$version" org.apache.spark.deploy.master.Master --host 127.0.0.1 --port "$port" --webui-port 0 2>>"$log" &
    daemons=($!)
    for host in 127.0.0.1 127.0.0.2; do
        (renice -n "$nice" $BASHPID >/dev/null
            run "$version" org.apache.spark.deploy.worker.Worker --host "$host" --webui-port 0 -c "$cores" -m 1g -d "$work" \
                "spark://127.0.0.1:$port" 2>>"$log") &
        daemons+=($!)
    done
    run "$version" "$class" "spark://127.0.0.1:$port" "$@" 2>>"$log" || failed=$?
    pkill -P "$(IFS=,; echo "${daemons[*]}")" || true
    kill "${daemons[@]}" 2>/dev/null || true
    wait "${daemons[@]}" 2>/dev/null || true
    rm -rf "$work"
    return "$failed"
}

for version in "${versions[@]}"; do
    if [[ ! -d $(home "$version")/jars ]]; then
        python3 -m venv "target/spark/$version"
        "target/spark/$version/bin/pip" install --quiet --no-compile --disable-pip-version-check "pyspark==$version"
    fi
    if [[ -z $quick$offers && ! -x target/spark/$version/bin/tpchgen-cli ]]; then
        "target/spark/$version/bin/pip" install --quiet --no-compile --disable-pip-version-check tpchgen-cli
    fi
done
if [[ -z $quick$offers && -z $program ]]; then
    echo "no program \`distill\`, which the log of the plugin is compared with: \`cargo build\` makes it" >&2
    exit 2
fi

first=$(home "${versions[0]}")
spark/build.sh "$first" "$jar"
if (($(stat -c %s "$jar") > 200000)); then
    echo "the jar has more than 200,000 bytes" >&2
    exit 1
fi
rm -rf "$tests"; mkdir -p "$tests"
javac --release 11 -nowarn -cp "$jar:$first/jars/*" -d "$tests" $(find spark/tests -name '*.java') 2> >(grep -v '^warning: \|^[0-9]* warning' >&2)

for version in "${versions[@]}"; do
    echo "== Spark $version"
    log=target/spark/test-$version.log
    if [[ -n $offers ]]; then
        : >"$log"
        # Drivers have processors of their own elsewhere.
        under_master "$version" 4 10 distill.test.Load "$student" decide wide
        sed -n 's/.*distill: \([0-9]* offers\)/\1/p' "$log"
        continue
    fi
    run "$version" distill.test.LiveTest 'local[4]' "$student" 2>"$log"
    run "$version" distill.test.LiveTest 'local-cluster[2,1,512]' "$student" 2>>"$log"
    [[ -n $quick ]] && continue
    under_master "$version" 2 0 distill.test.LiveTest "$student"

    # The same rows, with plans that change while they run and with fixed ones.
    for adaptive in true false; do
        own=$(rows "$version" --conf spark.sql.adaptive.enabled=$adaptive)
        with=$(rows "$version" --conf spark.sql.adaptive.enabled=$adaptive --jars "$jar" --conf spark.plugins=distill.Plugin \
            --conf spark.distill.student="$student" --conf spark.distill.mode=decide --conf spark.distill.log="$tests/$version-$adaptive.jsonl")
        echo "TPC-H, adaptive $adaptive: without the plugin $own; with it $with"
        if [[ -z $own || ${own##* } != "${with##* }" || ! -s $tests/$version-$adaptive.jsonl ]]; then
            echo "rows differ, or the plugin decided nothing" >&2
            exit 1
        fi
    done
done
[[ -z $quick$offers ]] || exit 0

# What it logs of some thousand offers.
log=target/spark/test-log.log
run "${versions[0]}" distill.test.Load 'local[8]' "$student" decide chain "$tests/chain.jsonl" 2>"$log"
for file in "$tests"/*.jsonl; do
    python3 spark/check_log.py "$file" "$student" "$program"
    spark/test-rows.sh "$file" "$student"
done
