#!/usr/bin/env bash
# A one-node Slurm on this machine, for tests and for trying a sweep: scripts/slurm_local.sh start|stop|status|env|down|up
#
#   apt-get install -y slurm-wlm munge      # Debian, Ubuntu; as root
#   scripts/slurm_local.sh start            # ready in seconds; a second start does nothing
#   eval "$(scripts/slurm_local.sh env)"    # sbatch, squeue, scancel … of this shell now speak to it
#   scripts/slurm_local.sh down             # the node fails: its jobs are requeued; `up` brings it back
#   scripts/slurm_local.sh stop             # ends all jobs and daemons; nothing outside SLURM_LOCAL was touched
#
# Everything lives in SLURM_LOCAL (default /tmp/gclbench-slurm): configuration, key, socket, spool, state, logs.
# No accounting (sacct has nothing to tell), no cgroups (works in containers). Partitions: `normal`, whose jobs are
# requeued when a job of `urgent` needs their place, after the signal they asked for and GRACE_S seconds.
# SLURM_LOCAL_CPUS says how many CPUs the node claims (default: those of the machine), SLURM_LOCAL_PORT the first of three ports.
set -euo pipefail

here=${SLURM_LOCAL:-/tmp/gclbench-slurm}
port=${SLURM_LOCAL_PORT:-16817}
cpus=${SLURM_LOCAL_CPUS:-$(getconf _NPROCESSORS_ONLN)} # not nproc: it obeys OMP_NUM_THREADS
grace=${GRACE_S:-10}
export SLURM_CONF=$here/slurm.conf
PATH=$PATH:/usr/sbin:/sbin

fail() {
  echo "slurm_local: $*" >&2
  exit 1
}

runs() { # PID: whether it is there and no zombie
  case $(ps -o stat= -p "$1") in "" | Z*) return 1 ;; esac
}

alive() { # NAME: whether the daemon whose pid file is NAME.pid runs
  [ -s "$here/$1.pid" ] && runs "$(cat "$here/$1.pid")"
}

wait_for() { # SECONDS WHAT COMMAND…
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || fail "$what did not come up; logs are in $here/log"
    sleep 0.2
  done
}

node_ready() { [ "$(sinfo -h -N -p normal -o %t | sort -u)" != "" ] && ! sinfo -h -N -p normal -o %t | grep -qE 'down|drain|unk|\*'; }

configure() {
  local node memory
  node=$(hostname -s)
  # A little below what slurmd will measure, or it calls the node invalid.
  memory=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
  cat >"$SLURM_CONF" <<CONF
ClusterName=gclbench
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SrunPortRange=$((port + 10))-$((port + 400))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$here/munge.socket,cred_expire=5
# A requeued job waits until its old credential has expired, by default two minutes.
CredType=cred/munge
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/spool
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd.pid
SlurmctldLogFile=$here/log/slurmctld.log
SlurmdLogFile=$here/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=1
JobRequeue=1
KillWait=3
ReturnToService=2
SlurmdTimeout=60
MinJobAge=300
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
NodeName=$node NodeAddr=127.0.0.1 CPUs=$cpus Sockets=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=$memory State=UNKNOWN
PartitionName=normal Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=$grace
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
CONF
}

start() {
  for program in munged slurmctld slurmd sinfo; do
    command -v "$program" >/dev/null || fail "$program is not installed; apt-get install -y slurm-wlm munge"
  done
  [ "$(id -u)" = 0 ] || fail "Slurm's daemons need root here; run it with sudo"
  if alive slurmctld && alive slurmd && alive munged && node_ready; then
    echo "running in $here"
    return
  fi
  stop_daemons
  mkdir -p "$here/log" "$here/state" "$here/spool"
  chmod 755 "$here"
  rm -rf "$here"/state/* "$here"/spool/*
  configure
  [ -s "$here/munge.key" ] || (umask 077 && head -c 128 /dev/urandom >"$here/munge.key")
  munged --force --key-file="$here/munge.key" --socket="$here/munge.socket" --pid-file="$here/munged.pid" \
    --log-file="$here/log/munged.log" --seed-file="$here/munge.seed" 2>"$here/log/munged.err" || fail "munged does not start: $(cat "$here/log/munged.err")"
  slurmctld -c >"$here/log/slurmctld.err" 2>&1 || fail "slurmctld does not start: $(cat "$here/log/slurmctld.err")"
  wait_for 60 slurmctld scontrol ping
  up
  echo "ready in $here"
}

end() { # NAME: TERM, then KILL after five seconds
  if alive "$1"; then
    local pid
    pid=$(cat "$here/$1.pid")
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 25); do
      runs "$pid" || break
      sleep 0.2
    done
    kill -KILL "$pid" 2>/dev/null || true
  fi
  rm -f "$here/$1.pid"
}

stop_daemons() {
  for name in slurmd slurmctld munged; do end "$name"; done
}

stop() {
  if alive slurmctld; then
    # Jobs first: a stopped slurmd leaves their processes alone.
    scancel --full --signal=KILL --state=RUNNING -u "$(id -un)" 2>/dev/null || true
    scancel -u "$(id -un)" 2>/dev/null || true
    for _ in $(seq 50); do
      [ -n "$(squeue -h -t RUNNING,COMPLETING 2>/dev/null)" ] || break
      sleep 0.2
    done
  fi
  stop_daemons
  echo "stopped"
}

down() { # as when the power goes: slurmd and everything that its jobs started are killed
  local daemon sessions
  alive slurmd || fail "the node is down already"
  daemon=$(cat "$here/slurmd.pid")
  # Frozen, not dead: nothing starts any more, and a job that has only just begun waits for its
  # answer. If slurmd were dead, such a job would end by itself and tell of it.
  kill -STOP "$daemon"
  # All at the same moment: none may live to tell of the others' end. Looked for twice, since
  # a job that has only just begun may have started a session before it was frozen.
  for signal in STOP STOP KILL; do
    [ "$signal" = KILL ] || sessions=$(sessions)
    for session in $sessions; do pkill -"$signal" -s "$session" || true; done
  done
  kill -KILL "$daemon"
  rm -f "$here/slurmd.pid"
  scontrol update NodeName="$(hostname -s)" State=DOWN Reason="power failure"
}

sessions() { # of this cluster's slurmstepd processes and of all that descends from them
  local pid roots=
  for pid in $(pgrep -x slurmstepd); do
    if cat "/proc/$pid/environ" 2>/dev/null | tr '\0' '\n' | grep -qx "SLURM_CONF=$SLURM_CONF"; then roots+=" $pid"; fi
  done
  # Not from `scontrol listpids`: it waits for an answer of each slurmstepd, and these are frozen.
  ps -e -o pid=,ppid=,sid= | awk -v roots="$roots" '
    BEGIN {n = split(roots, todo, " ")}
    {children[$2] = children[$2] " " $1; session[$1] = $3}
    END {
      while (n) {
        pid = todo[n--]
        if (pid in session && !(session[pid] in told)) {told[session[pid]]; print session[pid]}
        m = split(children[pid], more, " ")
        while (m) todo[++n] = more[m--]
      }
    }'
}

up() {
  alive slurmctld || fail "not running; scripts/slurm_local.sh start"
  alive slurmd || slurmd >"$here/log/slurmd.err" 2>&1 || fail "slurmd does not start: $(cat "$here/log/slurmd.err")"
  wait_for 60 "the node" node_ready
}

case ${1:-} in
start) start ;;
stop) stop ;;
status)
  alive slurmctld && alive slurmd && node_ready || fail "not running; scripts/slurm_local.sh start"
  sinfo && squeue
  ;;
env) echo "export SLURM_CONF=$SLURM_CONF" ;;
down) down ;;
up) up ;;
*) fail "usage: scripts/slurm_local.sh start|stop|status|env|down|up" ;;
esac
