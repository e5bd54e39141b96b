#!/bin/sh
# Compares the port to Java with the original: rows bit for bit, and what students decide.
#
#     spark/test-rows.sh [EPISODES]       states of so many episodes in the simulator
#     spark/test-rows.sh LOG [STUDENT]    states that the plugin has logged
#
# Needs cargo, a JDK of 11 or later, python3, and Jackson: the jars of Spark, in the folder JACKSON, or those of the pyspark
# that spark/test.sh installs.
set -eu
cd "$(dirname "$0")/.."
out=target/spark-rows
student=tests/compat/dag/student.json
episodes=${1:-8}
log=
if [ -f "$episodes" ]; then
    log=$episodes
    student=${2:-$student}
fi

jackson=${JACKSON:-}
for folder in target/spark/*/lib/python3*/site-packages/pyspark/jars; do
    [ -n "$jackson" ] || [ ! -d "$folder" ] || jackson=$folder
done
[ -n "$jackson" ] || { echo "no jars of Jackson: set JACKSON to a folder that has them" >&2; exit 2; }
path=$out/classes
for jar in "$jackson"/jackson-core-2*.jar "$jackson"/jackson-databind-2*.jar "$jackson"/jackson-annotations-2*.jar; do
    path=$path:$jar
done

rm -rf "$out"
mkdir -p "$out/classes"
# With the program beside it, features are those of the tests, and nothing is compiled twice.
cargo build --locked --quiet -p sched-distill -p sched-distill-dag --example state_rows
rust=${CARGO_TARGET_DIR:-target}/debug/examples/state_rows
javac --release 11 -Xlint:all -Werror -cp "$path" -d "$out/classes" \
    spark/src/distill/state/*.java spark/src/distill/features/*.java spark/src/distill/json/*.java \
    spark/src/distill/student/*.java spark/tests/distill/state/*.java spark/tests/distill/tools/*.java spark/tests/distill/student/*.java
start=$(date +%s)

java() {
    command java -XX:+UseSerialGC -cp "$path" "$@"
}

# Both print the same lines, at the same time; the first that differs is shown.
compare() {
    name=$1
    shift
    "$rust" rows "$@" > "$out/$name-rust.txt" &
    java distill.tools.StateRows rows "$@" > "$out/$name-java.txt"
    wait $!
    if ! difference=$(cmp "$out/$name-rust.txt" "$out/$name-java.txt" 2>&1); then
        line=${difference##* }
        echo "$name: line $line differs (behind \"$(head -n "$line" "$out/$name-rust.txt" | grep '^state' | tail -n 1)\")" >&2
        sed -n "${line}p" "$out/$name-rust.txt" | cut -c 1-500 | sed 's/^/  Rust: /' >&2
        sed -n "${line}p" "$out/$name-java.txt" | cut -c 1-500 | sed 's/^/  Java: /' >&2
        tail -n "+$line" "$out/$name-rust.txt" | sed -n '/^total/{s/^total of \(.*\):.*/  of the student \1/p;q;}' >&2
        echo "  --full instead of --decisions prints all columns" >&2
        exit 1
    fi
}

if [ -n "$log" ]; then
    grep '"state":' "$log" > "$out/logged.jsonl"
    compare logged "$out/logged.jsonl" "$student"
    sed -n "s/^total of [^:]*: /logged: the same in /p" "$out/logged-rust.txt"
    exit
fi

"$rust" make "$out/states.jsonl" --episodes "$episodes"
python3 spark/students.py "$student" "$out/students"
java distill.student.Checks "$out/states.jsonl" "$student"

compare rows "$out/states.jsonl" "$student"
sed -n 's/^total of [^:]*: /rows: the same in /p' "$out/rows-rust.txt"
echo "refused by both: $(grep -c '^refused' "$out/rows-rust.txt") lines"

compare decisions "$out/states.jsonl" "$out"/students/*.json --decisions --every 10
awk '/^total/ { students++ } /^state / { states++ } /^decision/ { all++ } /^decision abstain/ { none++ }
    END { printf "decisions: the same in %d states under %d students, %d decisions, %d of them to give nothing\n",
        states, students, all, none }' "$out/decisions-rust.txt"
echo "compared in $(($(date +%s) - start)) s"
