#!/usr/bin/env bash
# Compiles the plugin and packs it: spark/build.sh [SPARK] [JAR]
# SPARK is a Spark of any version that the plugin is made for: a folder with `jars` in it. Without it that of the Python in PATH is taken (pip install
# pyspark). JAR is target/spark/distill-spark.jar if it is left out; the same file runs with all versions. Needs a JDK, 11 or newer.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
spark=${1:-$(python3 -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))' 2>/dev/null || true)}
jar=${2:-$here/../target/spark/distill-spark.jar}
if [[ ! -d $spark/jars ]]; then
    echo "${spark:-nowhere}: no Spark, which has a folder \`jars\`; name one, or \`pip install pyspark\`" >&2
    exit 2
fi
# Of Spark's 250 jars these are compiled against.
path=$(ls "$spark"/jars/{spark-core,spark-common-utils,scala-library,jackson-core,jackson-databind,jackson-annotations,metrics-core,slf4j-api}*.jar | paste -sd:)
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
mkdir "$classes"/{stubs,plugin}
javac --release 11 -nowarn -cp "$path" -d "$classes/stubs" "$here"/stubs/scala/collection/mutable/ArrayBuffer.java
# Annotations of Scala and of other jars are not there, and nobody needs them.
javac --release 11 -Xlint:all,-classfile,-path,-processing,-serial -Werror -cp "$classes/stubs:$path" -d "$classes/plugin" \
    $(find "$here/src" -name '*.java')
mkdir -p "$(dirname "$jar")"
jar --create --file "$jar" -C "$classes/plugin" .
echo "$jar: $(stat -c %s "$jar") bytes"
