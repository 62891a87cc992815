#!/bin/bash
# gemel campaign in three shards, by GNU parallel, a Slurm job array and MPI's launcher: each must be
# one run, but for the order of models and the seconds. Slurm is one node, this machine, with its
# daemons in a scratch folder, started and ended here; that takes root, as do Open MPI's --allow-run-as-root
# and munge's key. What isn't installed is said and left out.
#
#     shards.sh GEMEL MODELS 'OPTIMISER {in} {out}'
#
# Debian: parallel, openmpi-bin, slurm-wlm, munge. SPDX-License-Identifier: MIT
set -u
gemel=$1 models=$2 optimizer=$3
scratch=$(mktemp -d)
daemons=()
trap 'kill "${daemons[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2
export gemel models optimizer
failed=0

cat >one <<'END'
#!/bin/sh
# one K NAME: shard K of 3
exec "$gemel" campaign "$models" --optimizer "$optimizer" --seed 1 --shard "$1/3" --json "$2-$1.json" >/dev/null
END
chmod +x one

# outcomes FILE...: all lines without their seconds, in order
outcomes() { cat "$@" | sed 's/, "seconds.*//' | sort; }

# is_whole NAME
is_whole() {
  if [ -s whole ] && outcomes "$1"-1.json "$1"-2.json "$1"-3.json | cmp -s - whole; then
    echo "$1: three shards are one run"
  else
    echo "$1: other outcomes than one run"
    failed=1
  fi
}

"$gemel" campaign "$models" --optimizer "$optimizer" --seed 1 --json one.json | tail -1
outcomes one.json >whole

if command -v parallel >/dev/null; then
  seq 3 | parallel -j 3 ./one {} parallel 2>/dev/null
  is_whole parallel
else
  echo "parallel: not installed"
fi

if command -v mpirun >/dev/null; then
  mpirun --allow-run-as-root --oversubscribe -n 3 sh -c './one $((OMPI_COMM_WORLD_RANK + 1)) mpi || true' 2>/dev/null
  is_whole mpi
else
  echo "mpi: not installed"
fi

# A controller and a node on this machine.
start_slurm() {
  local host
  host=$(hostname -s)
  mkdir -p state spool munge
  dd if=/dev/urandom of=munge/key bs=1 count=1024 2>/dev/null
  chmod 700 munge state
  chmod 400 munge/key
  cat >slurm.conf <<END
ClusterName=gemel
SlurmctldHost=$host(127.0.0.1)
AuthInfo=socket=$scratch/munge/socket
AuthType=auth/munge
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
END
  export SLURM_CONF=$scratch/slurm.conf
  munged --foreground --force --key-file="$scratch/munge/key" --socket="$scratch/munge/socket" \
    --pid-file="$scratch/munge/pid" --log-file="$scratch/munge/log" --seed-file="$scratch/munge/seed" 2>/dev/null &
  daemons+=($!)
  sleep 1
  slurmctld -D >slurmctld.log 2>&1 &
  daemons+=($!)
  slurmd -D >slurmd.log 2>&1 &
  daemons+=($!)
  for _ in $(seq 30); do
    sinfo -h -o %T 2>/dev/null | grep -q idle && return 0
    sleep 1
  done
  tail -3 slurmctld.log slurmd.log
  return 1
}

if command -v sbatch >/dev/null && command -v munged >/dev/null; then
  if start_slurm; then
    sbatch --wait --array=1-3 --output=/dev/null --wrap './one $SLURM_ARRAY_TASK_ID slurm || true' >/dev/null
    is_whole slurm
  else
    echo "slurm: no node came up"
    failed=1
  fi
else
  echo "slurm: not installed"
fi
exit $failed
