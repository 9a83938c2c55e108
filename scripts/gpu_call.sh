#!/bin/bash
# What a lent GPU does in its minutes, prepared: measurements on the idle GPU, then beside each other
# the two lists of gpu_sweep.py, the equivalence of TF32 products (equivalence.py) and the kernel's
# tests. `python scripts/gpu_sweep.py pack` says how to begin; $OUT is the folder that comes back.
#
#     bash scripts/gpu_call.sh first 560 10    # seconds of this call, minutes of the lists
#     bash scripts/gpu_call.sh rest 200        # the next call waits for them so long
#
# Whatever is started outlives the first call, since each has a session of its own. Both calls bring
# back what there is at their end. DEVICE=cpu with SWEEP, EQUIVALENCE and CHECK, more options of the
# three scripts, tries it without a GPU.
set -u
if [ ! -f .carry/commit ]; then
    echo "there is no .carry/commit here; python scripts/gpu_sweep.py pack makes it" >&2
    exit 2
fi
export ROOT=$PWD PYTHONUNBUFFERED=1 GCLBENCH_OFFLINE=1 GCLBENCH_MIRROR=$PWD/.carry
export PYTHONPATH=/tmp/site GCLBENCH_DATA=/tmp/cache GCLBENCH_COMMIT="$(cat .carry/commit)"
DEVICE=${DEVICE:-cuda} WORK=${WORK:-/tmp/lent}
read -ra SWEEP <<< "${SWEEP:-}"
read -ra EQUIVALENCE <<< "${EQUIVALENCE:-}"
read -ra CHECK <<< "${CHECK:-}"
began=$(date +%s)
elapsed() { echo $(($(date +%s) - began)); }

# Runs in a session of its own, until the lists end, with what it says in a file: NAME WORD…
aside() {
    local name=$1
    shift
    setsid nohup timeout -s TERM "$((MINUTES * 60 + 30))" python3 "$@" > "$WORK/$name.log" 2>&1 &
}

equivalence() {
    aside "$1" "$ROOT/scripts/equivalence.py" --device "$DEVICE" "${EQUIVALENCE[@]}" \
        --output "$WORK/$1.json" --methods "${@:2}"
}

start() {
    mkdir -p "$WORK"
    for plan in products launches; do
        aside "$plan" "$ROOT/scripts/gpu_sweep.py" run --device "$DEVICE" --plan "$plan" \
            --minutes "$MINUTES" "${SWEEP[@]}" --output "$WORK/$plan"
    done
    # Short trainings on small graphs; a lane's methods follow one another.
    equivalence lane1 grace progcl
    equivalence lane2 gca dmat_i
    equivalence lane3 homogcl phases
    equivalence lane4 dmt dmat
    equivalence lane5 local_gcl cca_ssg grape
    equivalence lane6 augcl nml_gcl
    aside kernel "$ROOT/scripts/gpu_check.py" --device "$DEVICE" "${CHECK[@]}" --seconds 200 \
        --parts "kernel tests" --output "$WORK/kernel"
}

# Records of finished runs, the reports and what was said, into $OUT.
bring() {
    cd /tmp || exit 1
    for plan in products launches; do
        rm -rf "$WORK/export"
        if [ -d "$WORK/$plan/runs" ]; then
            python3 -m gclbench export --runs "$WORK/$plan/runs" --to "$WORK/export/records" \
                > /dev/null 2>&1
            tar -czf "$OUT/$plan.tar.gz" -C "$WORK/export" records
        elif [ -f "$WORK/$plan/records.tar.gz" ]; then
            cp "$WORK/$plan/records.tar.gz" "$OUT/$plan.tar.gz"
        fi
    done
    tar -czf "$OUT/reports.tar.gz" -C "$WORK" --exclude=runs --exclude=export \
        --exclude=records.tar.gz .
    tail -n 3 "$WORK"/*.log
}

case "${1:-}" in
first)
    MINUTES=$3
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir \
        --target /tmp/site .whl/*.whl || exit 1
    nproc
    timeout 240 python3 scripts/gpu_check.py --device "$DEVICE" "${CHECK[@]}" --seconds 220 \
        --parts training tiles workers --output "$OUT/check"
    echo "measured after $(elapsed) s"
    if python3 scripts/gpu_workers.py --better-by-mps "$OUT/check/gpu_check.json"; then
        export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps
        mkdir -p /tmp/mps
        nvidia-cuda-mps-control -d
        echo "processes share the GPU by MPS"
    fi
    start
    while [ "$(elapsed)" -lt "$2" ]; do sleep 2; done
    bring
    ;;
rest)
    while [ "$(elapsed)" -lt "$2" ]; do
        [ -f "$WORK/products/gpu_sweep.json" ] && [ -f "$WORK/launches/gpu_sweep.json" ] && break
        sleep 2
    done
    bring
    ;;
*)
    echo "gpu_call.sh first SECONDS MINUTES, or gpu_call.sh rest SECONDS" >&2
    exit 2
    ;;
esac
