#!/usr/bin/env bash
# A paper's table on a Slurm cluster whose nodes have no internet. Run it on the login node, in a folder that the nodes see.
#
#   scripts/cluster_example.sh                                                     clustering with DMAT-i, two datasets, ten seeds
#   OPTIONS="launcher.partition=gpu launcher.gpus=1" scripts/cluster_example.sh    on GPUs
#   DATASETS=cora METHODS=dmat_i,grace SEEDS=3 TABLE=dmat/1 scripts/cluster_example.sh
#
# Killed or started again, it goes on with what is missing.
set -euo pipefail

DATASETS=${DATASETS:-cora,acm}
METHODS=${METHODS:-dmat_i}
SEEDS=${SEEDS:-10}
TABLE=${TABLE:-dmat/1}
OPTIONS=${OPTIONS:-}
POLL=${POLL:-60}

# 1. The login node has internet: get the raw files, checked by sha256, into a folder that the nodes see.
export GCLBENCH_DATA=${GCLBENCH_DATA:-$PWD/data}
gclbench data fetch ${DATASETS//,/ }

# 2. Hand the sweep over. The jobs get this folder and the GCLBENCH_ variables: they read the same data and open no connection.
export GCLBENCH_OFFLINE=1
#    Something printed means that it was taken, or that nothing is left to do (exit code 1 then says that a recorded run is not ok).
gclbench submit -m method="$METHODS" dataset="$DATASETS" seeds="$SEEDS" task=clustering \
  launcher=slurm launcher.time=2:00:00 launcher.cpus=2 launcher.units_per_job=5 $OPTIONS | tee submitted.txt || [ -s submitted.txt ]

# 3. Look, as often as you like; the sweep needs neither this shell nor this script.
sweep=$(sed -n 's/^sweep \([^:]*\):.*/\1/p' submitted.txt)
if [ -n "$sweep" ]; then
  # The exit code of `status` is 1 as soon as one run is not ok; the others go on.
  while gclbench status "$sweep" >status.txt || true; grep -q "time left" status.txt; do sleep "$POLL"; done
  cat status.txt
fi

# 4. Collect: one file per method and dataset, to be taken home. `rsync -a` of runs/ does as well, from several clusters into one folder.
gclbench export --to collected
# at home: rsync -a login.cluster:$PWD/collected/ results/

# 5. The table, ours beside the paper's numbers.
gclbench table "$TABLE" --runs collected --dataset ${DATASETS//,/ }
