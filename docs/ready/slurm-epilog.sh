#!/bin/bash
# At the end of a batch script: source slurm-epilog.sh RUN_DIRECTORY SLOT EXIT_CODE
# Adds the scheduler's own records to the run directory and uploads it. It never fails the job: what could not
# be sent stays in the directory, and the same line sends it later.
# Needs RLVRAM_URL, RLVRAM_STUDY and RLVRAM_KEY_FILE (mode 600, on storage that the node sees).
rlvram_run_directory=$1 rlvram_slot=$2 rlvram_exit_code=$3
sacct -P -n -j "$SLURM_JOB_ID" \
    --format=JobID,JobIDRaw,JobName,State,ExitCode,Start,End,ElapsedRaw,AllocTRES,NodeList,Reason \
    > "$rlvram_run_directory/sacct.txt" || true
rlvram-upload "$rlvram_run_directory" --url "$RLVRAM_URL" --study "$RLVRAM_STUDY" --slot "$rlvram_slot" \
    --invocation "slurm-${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+-$SLURM_ARRAY_TASK_ID}" \
    --exit-code "$rlvram_exit_code" --retries 3 || true
