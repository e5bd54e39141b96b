#!/usr/bin/env bash
# The job files of scripts/cluster at work: array jobs on a Slurm of one node, which is started in a temporary folder and
# stopped at the end, and the Kubernetes Job against the schemas of Kubernetes.
#
#     scripts/check-cluster.sh        # takes two minutes
#
# Needs the built program (target/release/distill, or DISTILL) and Python 3 with venv. Needs Debian's Slurm, which it
# installs where it is missing and it may (root). Nothing in /etc is read or written by this Slurm. No Kubernetes is
# started: what a container would run is run here.
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in -h | --help) sed -n '2,/^set -/p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//'; exit 0 ;; esac

fail() { echo "check-cluster: $*" >&2; exit 1; }
trap 'echo "check-cluster: line $LINENO failed" >&2' ERR
ok() { echo "ok: $*"; }

root=$PWD
script=$root/scripts/cluster/record.sbatch
job=$root/scripts/cluster/record-job.yaml
distill=$(realpath "${DISTILL:-target/release/distill}")
[[ -x $distill ]] || fail "no program $distill: build it first, with \`cargo build --release\`"
# Nor settings for another Slurm.
unset DISTILL SHARDS "${!SLURM_@}" "${!SBATCH_@}"

# --- what is needed ---------------------------------------------------------------------------------------------------

export PATH=$PATH:/usr/sbin:/sbin
declare -A packages=([slurmctld]=slurmctld [slurmd]=slurmd [sbatch]=slurm-client [munged]=munge)
missing=()
for program in "${!packages[@]}"; do command -v "$program" >/dev/null || missing+=("${packages[$program]}"); done
if [[ ${#missing[@]} -gt 0 ]]; then
    if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
        fail "not installed, and installing needs Debian and root: ${missing[*]}"
    fi
    echo "check-cluster: installing ${missing[*]}"
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; } >/dev/null
fi
venv=target/cluster/venv
python=$venv/bin/python
[[ -x $python ]] || python3 -m venv $venv
$python -m pip install --quiet --disable-pip-version-check kubernetes-validate==1.37.0

# --- a Slurm of our own -----------------------------------------------------------------------------------------------

# Short, since names of sockets are; open to others, since munge wants its socket to be.
tmp=$(mktemp -d /tmp/check-cluster.XXXXXX)
chmod 755 "$tmp"
daemons=()
jobs_are_over() {
    local left
    left=$(squeue --noheader) && [[ -z $left ]]
}
# within SECONDS COMMAND...: whether the command succeeds in that time
within() {
    local end=$((SECONDS + $1))
    until "${@:2}" >/dev/null 2>&1; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}
clean_up() {
    local code=$?
    trap - EXIT INT TERM
    if [[ ${#daemons[@]} -eq 3 ]]; then
        # First the jobs, since they have processes of their own that would outlive the daemons.
        scancel --user "$(id -un)" 2>/dev/null || true
        within 20 jobs_are_over || true
    fi
    if [[ $code -ne 0 ]]; then
        mapfile -t logs < <(find "$tmp/work" -maxdepth 1 -name '*.out' -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 5 | cut -d' ' -f2-)
        for log in "$tmp"/{munged,slurmctld.err,slurmd.err,containers}.log "${logs[@]}"; do
            [[ ! -s $log ]] || { echo "--- ${log##*/}"; tail -n 10 "$log"; } >&2
        done
    fi
    for ((i = ${#daemons[@]} - 1; i >= 0; i--)); do
        kill "${daemons[i]}" 2>/dev/null || true
        wait "${daemons[i]}" 2>/dev/null || true
    done
    rm -rf "$tmp"
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir -p "$tmp"/{bin,work,state,spool,munge}
ln -s "$distill" "$tmp/bin/distill"
node=$(hostname -s)
user=$(id -un)
read -r port_of_controller port_of_node < <(python3 -c '
import socket
sockets = [socket.socket() for _ in range(2)]
[s.bind(("127.0.0.1", 0)) for s in sockets]
print(*(s.getsockname()[1] for s in sockets))')
export SLURM_CONF=$tmp/slurm.conf
cat >"$SLURM_CONF" <<END
ClusterName=check
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$port_of_controller
SlurmdPort=$port_of_node
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$tmp/munge/socket
CredType=cred/munge
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.pid
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdLogFile=$tmp/slurmd.log
PlugStackConfig=$tmp/plugstack.conf
# No cgroups, which containers often lack.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
# What the node says below holds, whatever the machine is.
SlurmdParameters=config_overrides
# Tasks of a second need not wait for seconds.
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
KillWait=5
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 RealMemory=8192 State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
END
: >"$tmp/plugstack.conf"
: >"$tmp/cgroup.conf"

(umask 077 && head -c 128 /dev/urandom >"$tmp/munge/key")
munged --foreground --socket="$tmp/munge/socket" --key-file="$tmp/munge/key" --pid-file="$tmp/munge/pid" \
    --seed-file="$tmp/munge/seed" --num-threads=2 >"$tmp/munged.log" 2>&1 &
daemons+=($!)
within 20 test -S "$tmp/munge/socket" || fail "munged did not start"
slurmctld -D -c >"$tmp/slurmctld.err.log" 2>&1 &
daemons+=($!)
slurmd -D -c >"$tmp/slurmd.err.log" 2>&1 &
daemons+=($!)
is_idle() { [[ $(sinfo --noheader --format=%T) == idle ]]; }
within 60 is_idle || fail "the node did not come up"
ok "a Slurm $(sbatch --version | cut -d' ' -f2) of one node is up"

cd "$tmp/work"
# submit WHAT OF SBATCH... -- WHAT OF DISTILL...: waits for the end; the exit code is the highest of the tasks
submit() {
    local options=()
    while [[ $1 != -- ]]; do options+=("$1"); shift; done
    sbatch --quiet --wait --cpus-per-task=1 --mem-per-cpu=512M "${options[@]}" "$script" "${@:2}"
}
# same A B: whether two traces have the same files with the same bytes
same() {
    [[ -f $1/manifest.json ]] || fail "$1 is not sealed"
    diff -r "$1" "$2" >/dev/null || fail "$1 and $2 are not the same"
}
hash_of() { "$distill" inspect "$1" | sed -n '1s/^trace //p'; }
# lacks TRACE PARTS: whether exactly these parts are missing
lacks() {
    local said
    if said=$("$distill" inspect "$1" 2>/dev/null); then fail "$1 is complete, expected parts $2 to be missing"; fi
    [[ $(sed -n 's/^ *missing *//p' <<<"$said") == "$2" ]] || fail "$1: expected parts $2 to be missing, but: $said"
}
# changed TRACE SINCE: numbers of the parts with a file that is newer than another one
changed() { find "$1" -name 'part-*' -newer "$2" -printf '%f\n' | sed -E 's/part-0*([0-9]+).*/\1/' | sort -nu | xargs; }

small=(-p decima -w 'builtin,executors=5,jobs=5' -n 40)
"$distill" record --quiet "${small[@]}" -o whole >/dev/null

# --- one array job, one trace -----------------------------------------------------------------------------------------

PATH=$tmp/bin:$PATH submit --array=0-9 -- "${small[@]}" -o array
same array whole
grep -qx "record.sbatch: shard 10/10, threads: 1, on $(hostname)" slurm-*_9.out || fail "task 9 has not recorded shard 10/10"
ok "sbatch --array=0-9: ten shards seal into one trace, the bytes of a recording in one process"
hash=$(hash_of array)
[[ -n $hash && $hash == "$(hash_of whole)" ]] || fail "distill inspect names other hashes"
"$distill" inspect array | grep -qx sound || fail "distill inspect does not call the trace sound"
ok "distill inspect: sound, $hash"

for i in {1..10}; do "$distill" record --quiet "${small[@]}" -o by-hand --shard "$i/10" >/dev/null; done
same array by-hand
ok "the same as ten shards by hand"

export DISTILL=$distill
touch now
submit --array=0-9 -- "${small[@]}" -o array
[[ -z $(changed array now) ]] || fail "what was done was recorded again"
ok "submitted again, nothing is recorded"

# --- tasks that were killed -------------------------------------------------------------------------------------------

# Parts of some seconds, so that there is time to kill one.
large=(-p decima -w 'builtin,executors=25,jobs=300' -n 40)
id=$(sbatch --parsable --cpus-per-task=1 --mem-per-cpu=512M --array=0-9 "$script" "${large[@]}" -o killed)
begun() { compgen -G "killed/*/part-0000$1.*.tmp"; }
within 120 begun 3 || fail "task 3 did not begin"
scancel "${id}_3"
within 120 begun 4 || fail "task 4 did not begin"
# As where memory runs out: the program cannot clean up.
scancel --signal=KILL --full "${id}_4"
within 120 jobs_are_over || fail "the array job did not end"
lacks killed 3-4
ok "scancel of task 3 and SIGKILL to task 4 while they record: their parts are missing, the trace is not sealed"
touch now
submit --array=0-9 -- "${large[@]}" -o killed
[[ $(changed killed now) == '3 4' ]] || fail "parts $(changed killed now) were recorded, expected 3 4"
"$distill" record --quiet "${large[@]}" -o whole-large >/dev/null
same killed whole-large
ok "the same line again records parts 3 and 4 alone and seals the trace, with the same bytes"

# held TRACE TASKS...: an array job of which tasks are cancelled before they start
held() {
    local id task
    id=$(sbatch --parsable --hold --cpus-per-task=1 --mem-per-cpu=512M --array=0-9 "$script" "${small[@]}" -o "$1")
    for task in "${@:2}"; do scancel "${id}_$task"; done
    scontrol release "$id"
    echo "$id"
}
held some 3 7 >/dev/null
within 60 jobs_are_over || fail "the array job did not end"
lacks some '3, 7'
SHARDS=10 submit --array=3,7 -- "${small[@]}" -o some
same some whole
ok "tasks 3 and 7 cancelled: SHARDS=10 with --array=3,7 completes the trace"

id=$(held last 5)
submit --dependency="afterany:$id" --cpus-per-task=2 --output=last.out -- "${small[@]}" -o last
grep -qx "record.sbatch: what is missing, threads: 2, on $(hostname)" last.out || fail "the job after the array has not two threads"
same last whole
ok "task 5 cancelled: the job after the array, without --array, completes the trace"

# --- what is refused --------------------------------------------------------------------------------------------------

# refused WORDS COMMAND...: whether a command ends with exit code 2 and one line that has these words
refused() {
    local said code=0
    said=$("${@:2}" 2>&1) || code=$?
    [[ $code == 2 && $said != *$'\n'* && $said == *"$1"* ]] || fail "expected exit code 2 and \"$1\", but $code: $said"
}
array=(SLURM_JOB_ID=1 SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_COUNT=2)
refused 'submit it with sbatch' env bash "$script" "${small[@]}" -o no
refused 'put distill on PATH' env SLURM_JOB_ID=1 DISTILL="$tmp/none" bash "$script" "${small[@]}" -o no
refused 'no arguments' env SLURM_JOB_ID=1 bash "$script"
refused 'follows from --array' env SLURM_JOB_ID=1 bash "$script" "${small[@]}" -o no --shard 1/2
refused 'follow from --cpus-per-task' env SLURM_JOB_ID=1 bash "$script" "${small[@]}" -o no -j 2
refused 'set SHARDS' env "${array[@]}" bash "$script" "${small[@]}" -o no
refused 'expected a whole number' env "${array[@]}" SHARDS=ten bash "$script" "${small[@]}" -o no
refused 'has no shard' env "${array[@]}" SHARDS=3 bash "$script" "${small[@]}" -o no
(cd /tmp && refused 'submit from a folder' env SLURM_JOB_ID=1 SLURM_SUBMIT_DIR="$tmp/none" bash "$script" "${small[@]}" -o no)
[[ ! -e no ]] || fail "something was recorded all the same"
code=0
DISTILL=$tmp/none submit --array=0-1 -- "${small[@]}" -o no || code=$?
[[ $code == 2 ]] || fail "an array job without the program ended with exit code $code, expected 2"
ok "what is missing or wrong is refused in one line, with exit code 2"

# --- Kubernetes -------------------------------------------------------------------------------------------------------

cd "$root"
for version in 1.29.0 1.33.0 1.37.0; do
    "$venv/bin/kubernetes-validate" --strict --quiet --kubernetes-version $version "$job" || fail "not a Job of Kubernetes $version"
done
ok "record-job.yaml has the schemas of Kubernetes 1.29, 1.33 and 1.37"

# What the containers would run: the command of the Job as Kubernetes expands it, once for every index.
cat >"$tmp/containers.py" <<'END'
import os, re, subprocess, sys
import yaml

job = next(d for d in yaml.safe_load_all(open(sys.argv[1])) if d["kind"] == "Job")["spec"]
container = job["template"]["spec"]["containers"][0]
requests = container["resources"]["requests"]
env = {}
for entry in container["env"]:
    reference = entry.get("valueFrom", {}).get("resourceFieldRef", {}).get("resource")
    env[entry["name"]] = requests[reference.removeprefix("requests.")] if reference else entry["value"]
assert int(env["SHARDS"]) == job["completions"], "SHARDS is not the number of completions"
mounts = [m["mountPath"] + "/" for m in container["volumeMounts"]]
assert env["TRACE"].startswith(tuple(mounts)), "the trace is not on the volume"
env |= {name: value for name, value in (word.split("=", 1) for word in sys.argv[2:])}
for index in range(job["completions"]):
    env["JOB_COMPLETION_INDEX"] = str(index)
    # $(NAME) of a known variable is replaced; anything else in $(...) stays.
    words = [re.sub(r"\$\(([^)]*)\)", lambda m: env.get(m[1], m[0]), w) for w in container["command"] + container["args"]]
    subprocess.run(words, env={"PATH": os.environ["PATH"], **env}, check=True, stdout=subprocess.DEVNULL)
END
PATH=$tmp/bin:$PATH $python "$tmp/containers.py" "$job" WORKLOAD=builtin,executors=5,jobs=5 EPISODES=40 THREADS=1 \
    TRACE="$tmp/work/pods" 2>"$tmp/containers.log" || fail "the command of record-job.yaml failed"
same "$tmp/work/pods" "$tmp/work/whole"
ok "its command, run here for every index: one trace, the same bytes"

if command -v shellcheck >/dev/null; then
    shellcheck "$script" scripts/check-cluster.sh || fail "shellcheck has complaints"
    ok "shellcheck has no complaints"
fi
echo "check-cluster: all is well"
