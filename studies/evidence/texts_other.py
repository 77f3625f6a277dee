"""Rows of the table that speak of everything but memory."""

from __future__ import annotations

from studies.evidence.diagnoses import Diagnosis as D
from studies.evidence.rule import Role
from studies.evidence.rule import row as _row

_CAUSE, _KILL, _ERROR, _CONSEQUENCE = Role.CAUSE, Role.KILL, Role.ERROR, Role.CONSEQUENCE

DEVICE_FAULTS = [
    # CUDA runtime: wrong accesses and broken kernels. Nothing of these is exhaustion.
    _row(
        _CAUSE, D.DEVICE_FAULT, "cuda_fault",
        "illegal memory access|misaligned address|illegal instruction|assert triggered"
        "|launch failure|ecc error|launch timed out|invalid program counter|hardware stack error"
        "|nvlink or a hardware error",
        r"(?:CUDA|Cuda|CUBLAS|Triton)\b.*(?:an illegal memory access was encountered"
        r"|misaligned address|an illegal instruction was encountered|device-side assert triggered"
        r"|unspecified launch failure|uncorrectable ECC error encountered|hardware stack error"
        r"|the launch timed out and was terminated|invalid program counter"
        r"|nvlink or a hardware error)",
    ),
    # NVLink: the runtime's sentence, and the fabric manager's.
    _row(
        _CAUSE, D.DEVICE_FAULT, "nvlink", "nvlink",
        r"uncorrectable NVLink error|(?i:\bnvlink\b.*\bfatal error\b|\bfatal\b.*\bnvlink\b.*\berror\b)",
    ),
    # ROCm's runtime.
    _row(
        _CAUSE, D.DEVICE_FAULT, "rocm_fault", "memory access fault by gpu",
        r"Memory access fault by GPU node-\d+",
    ),
    # bitsandbytes.
    _row(
        _CAUSE, D.DEVICE_FAULT, "bitsandbytes_fault", "error an illegal",
        r"Error an illegal memory access was encountered at line",
    ),
    # NVIDIA kernel driver and nvidia-smi.
    _row(
        _CAUSE, D.DEVICE_FAULT, "gpu_lost", "fallen off the bus|gpu is lost|determine the device handle",
        r"GPU has fallen off the bus|\bGPU is lost\b|Unable to determine the device handle for GPU",
    ),
    # Numbers of Xid that report a clean-up after something else, or a repair that went well.
    _row(
        _CONSEQUENCE, D.DEVICE_FAULT, "xid_follows", "xid (",
        r"\bNVRM: Xid \([^)]*\): (?:43|45|63|92),",
    ),
    _row(_CAUSE, D.DEVICE_FAULT, "xid", "xid (", r"\bNVRM: Xid \("),
    # Triton: shared memory of a multiprocessor, which no other configuration of the run's memory changes.
    _row(
        _ERROR, D.RUNTIME, "triton_resources", "out of resource",
        r"\bout of resources?: (?:shared memory|registers)",
    ),
]  # fmt: skip

SYSTEM = [
    # PyTorch's loader, worker and parent.
    _row(
        _CAUSE, D.ENVIRONMENT, "loader_bus_error", "bus error",
        r"Unexpected bus error encountered in worker|killed by signal: Bus error"
        r"|\bBus error\s+\(core dumped\)",
    ),
    # Shared-memory file system: PyTorch's file-backed tensors and NCCL.
    _row(
        _CAUSE, D.ENVIRONMENT, "shared_memory", "shared memory",
        r"out of shared memory|insufficient shared memory \(shm\)"
        r"|unable to (?:open|mmap|resize|allocate)\b.*\bshared memory",
    ),
    _row(
        _CAUSE, D.ENVIRONMENT, "torch_shm_file", "</torch_",
        r"\b(?:to|from) file </torch_",
    ),
    _row(
        _CAUSE, D.ENVIRONMENT, "nccl_shm", "shm/nccl",
        r"(?:failed to extend|Error while creating shared memory segment|posix_fallocate).*/shm/nccl",
    ),
    # Ray's object store, which lives in shared memory, and its spilling.
    _row(
        _CAUSE, D.ENVIRONMENT, "ray_object_store", "objectstorefull|outofdisk",
        r"\bray\.exceptions\.(?:ObjectStoreFullError|OutOfDiskError): ",
    ),
    # Linux errno 24 and 28.
    _row(_ERROR, D.ENVIRONMENT, "open_files", "too many open files|items of ancdata",
        r"Too many open files|received 0 items of ancdata"),
    _row(_ERROR, D.ENVIRONMENT, "disk_full", "no space left on device", r"No space left on device"),
    # PyTorch and CUDA at initialisation.
    _row(
        _CAUSE, D.ENVIRONMENT, "no_driver",
        "cuda driver version|cuda-capable|no cuda gpus|no kernel image|cuda unknown error",
        r"CUDA driver version is insufficient|no CUDA-capable device is detected|No CUDA GPUs are available"
        r"|no kernel image is available for execution|\bCUDA unknown error\b",
    ),
    _row(
        _CAUSE, D.ENVIRONMENT, "old_driver", "nvidia driver",
        r"The NVIDIA driver on your system is too old|Found no NVIDIA driver on your system",
    ),
    # Linker and loader.
    _row(
        _ERROR, D.ENVIRONMENT, "shared_object", "shared object file",
        r"cannot open shared object file: No such file",
    ),
    _row(_ERROR, D.ENVIRONMENT, "undefined_symbol", "undefined symbol", r"\bundefined symbol: \w+"),
    # Python. Optional packages print it in healthy runs too.
    _row(
        _ERROR, D.ENVIRONMENT, "import_error", "no module named|importerror",
        r"^(?:ModuleNotFoundError: No module named|ImportError: )",
    ),
]  # fmt: skip

RESOURCES = [
    # verl's resource pool, vLLM's placement group, CUDA with a mask too short.
    _row(
        _CAUSE, D.INSUFFICIENT_GPUS, "too_few_gpus", "total desired gpus|number of available gpus",
        r"Total available GPUs \d+ is less than total desired GPUs"
        r"|exceeds the total number of available GPUs",
    ),
    _row(_CAUSE, D.INSUFFICIENT_GPUS, "device_ordinal", "invalid device ordinal", r"invalid device ordinal"),
    # c10d, TCPStore, Python sockets, uvicorn.
    _row(
        _ERROR, D.PORT_COLLISION, "port_taken", "address already in use|eaddrinuse",
        r"(?i:address already in use|\beaddrinuse\b)",
    ),
    # verl and trainers built on it.
    _row(
        _CAUSE, D.EMPTY_DATALOADER, "empty_loader", "dataloader is empty",
        r"(?i:(?:train|val|validation) ?dataloader is empty)",
    ),
    # huggingface_hub through requests or httpx.
    _row(
        _ERROR, D.HF_RATE_LIMIT, "hub_429", "429 too many|429 client|error: 429",
        r"\b429 (?:Client Error: )?Too Many Requests\b.*(?:huggingface|hf\.co|rate limit)"
        r"|HfHubHTTPError: 429\b",
    ),
]  # fmt: skip

CONFIGURATION = [
    # vLLM 0.x with device UUIDs in CUDA_VISIBLE_DEVICES.
    _row(
        _CAUSE, D.CONFIGURATION, "uuid_mask", "invalid literal for int()",
        r"invalid literal for int\(\) with base 10: '(?:GPU|MIG)-",
    ),
    # Hydra and OmegaConf.
    _row(
        _CAUSE, D.CONFIGURATION, "hydra", "could not override|not in struct|conf.errors.|hydra.errors.",
        r"^Could not override '|^Key '[^']*' is not in struct"
        r"|\bomegaconf\.errors\.\w+: |\bhydra\.errors\.\w+: ",
    ),
    # argparse.
    _row(
        _CAUSE, D.CONFIGURATION, "argparse", "unrecognized arguments|error: argument|arguments are required",
        r"error: (?:unrecognized arguments|argument \S+.*: |the following arguments are required)",
    ),
    # vLLM, verl and Megatron argument checks.
    _row(
        _CAUSE, D.CONFIGURATION, "derived_length", "derived max_model_len",
        r"is greater than the derived max_model_len",
    ),
    _row(
        _CAUSE, D.CONFIGURATION, "divisible", "divisible by",
        r"(?:ValueError|AssertionError):.*\b(?:must|should|needs to) be (?:evenly )?divisible by\b"
        r"|AssertionError:.*\bis not divisible by\b",
    ),
    _row(
        _CAUSE, D.CONFIGURATION, "vllm_fraction", "memory utilization must be",
        r"GPU memory utilization must be (?:less|between|in)\b",
    ),
    _row(_CAUSE, D.CONFIGURATION, "vllm_swap", "too large swap space", r"ValueError: Too large swap space"),
    _row(
        _CAUSE, D.CONFIGURATION, "vllm_batched_tokens", "max_num_batched_tokens",
        r"ValueError: max_num_batched_tokens .*(?:smaller than|must be greater)",
    ),
    _row(
        _CAUSE, D.CONFIGURATION, "hub_model", "valid model identifier",
        r"is not a local folder and is not a valid model identifier",
    ),
]  # fmt: skip

LIMITS = [
    # Slurm step daemon; srun repeats it.
    _row(_CAUSE, D.TIMEOUT, "slurm_time_limit", "time limit", r"CANCELLED AT \S+ DUE TO TIME LIMIT"),
    _row(
        _CAUSE, D.PREEMPTED, "slurm_preempted", "cancelled at", r"CANCELLED AT \S+ DUE TO PREEMPTION",
    ),
    _row(
        _CAUSE, D.CANCELLED, "slurm_requeued", "cancelled at", r"CANCELLED AT \S+ DUE TO JOB REQUEUE",
    ),
    # Kubernetes' scheduler, and machines that the cloud takes back.
    _row(
        _CAUSE, D.PREEMPTED, "preempted_elsewhere",
        "preempted by|preempting to accommodate|preemptionbyscheduler|interruption notice|was preempted"
        "|preemption notice",
        r"\bPreempted by (?:a? ?pod|default/|\S+/\S+ on node)|\bpreempting to accommodate a higher priority"
        r"|\bPreemptionByScheduler\b|(?i:\bspot\b.*\binterruption notice\b)"
        r"|(?i:\b(?:instance|vm|machine|node)\b.*\b(?:was preempted|preemption notice))",
    ),
    # Kubernetes' kubelet and eviction API: the node was short of memory, disk or process numbers.
    _row(
        _CAUSE, D.EVICTED, "evicted", "low on resource|the node had condition|reason:|evictionbyeviction",
        r"\bThe node was low on resource: |\bThe node had condition: \[|\bReason:\s+Evicted\b"
        r"|\bEvictionByEvictionAPI\b",
    ),
    _row(_CAUSE, D.ENVIRONMENT, "slurm_node", "cancelled at", r"CANCELLED AT \S+ DUE TO NODE FAILURE"),
    _row(
        _CAUSE, D.CANCELLED, "slurm_cancelled", "cancelled at",
        r"\*\*\* JOB \d+ ON \S+ CANCELLED AT \S+ \*\*\*",
    ),
    # A step is also cancelled because one of its tasks failed.
    _row(
        _CONSEQUENCE, D.CANCELLED, "slurm_step_cancelled", "cancelled at",
        r"\*\*\* STEP \S+ ON \S+ CANCELLED AT",
    ),
    # Launchers with a limit of their own.
    _row(
        _ERROR, D.TIMEOUT, "launcher_timeout", "timed out after",
        r"\bTimeoutExpired: .*timed out after [\d.]+ s",
    ),
    _row(
        _CAUSE, D.TIMEOUT, "coreutils_timeout", "timeout: sending signal",
        r"^timeout: sending signal \w+ to command",
    ),
    _row(_ERROR, D.TIMEOUT, "timeout_error", "timeouterror", r"^(?:\w+\.)*TimeoutError\b"),
    _row(_ERROR, D.CANCELLED, "interrupted", "keyboardinterrupt", r"^KeyboardInterrupt\b"),
    # PyTorch and Gloo: one rank waits for another that is gone.
    _row(
        _CONSEQUENCE, D.TIMEOUT, "collective_timeout",
        "collective operation timeout|timed out|gettimeouterror",
        r"Watchdog caught collective operation timeout|DistStoreError: Timed out|\bGetTimeoutError\b"
        r"|Timed out waiting \d+ms for",
    ),
]  # fmt: skip

KILLS = [
    # PyTorch's loader, torchrun, srun, bash: SIGKILL seen by the parent. Nobody says who sent it.
    _row(_KILL, D.KILLED_UNKNOWN_CAUSE, "loader_killed", "killed by signal", r"is killed by signal: Killed"),
    _row(
        _KILL, D.KILLED_UNKNOWN_CAUSE, "torchrun_sigkill", "sigkill|exitcode|signal 9",
        r"Signal 9 \(SIGKILL\) received by PID|exitcode\s*: -9\b|failed \(exitcode: -9\)|died from signal 9",
    ),
    _row(
        _KILL, D.KILLED_UNKNOWN_CAUSE, "status_137",
        "code 137|code: 137|status 137|status: 137|exit code -9|return code = -9",
        r"\bexit(?:ed with)? (?:code|status):? 137\b|\bexit code -9\b|\bexits with return code = -9\b",
    ),
    _row(
        _KILL, D.KILLED_UNKNOWN_CAUSE, "shell_killed", "killed",
        r"^\S+: line \d+: +\d+ Killed\b|^(?:/\S+: )?Killed\s*$|srun: error: \S+: tasks? [\d,-]+: Killed",
    ),
]  # fmt: skip

CONSEQUENCES = [
    # Ray: wraps the exception of an actor; the exception itself follows.
    _row(_CONSEQUENCE, D.RUNTIME, "ray_task_error", "raytaskerror", r"\bRayTaskError(?:\(\w+\))?: "),
    # vLLM V1 and V0.
    _row(
        _CONSEQUENCE, D.EXECUTOR_FAILURE, "engine_start_failed",
        "engine core|enginecore failed|engine process",
        r"(?i:engine core initialization failed)|EngineCore failed to start|Engine process failed to start",
    ),
    _row(
        _CONSEQUENCE, D.EXECUTOR_FAILURE, "engine_died",
        "enginecore encountered|enginedeaderror|engine loop|engine core proc",
        r"EngineCore encountered (?:a fatal error|an issue)|\bEngineDeadError\b|\bAsyncEngineDeadError\b"
        r"|Engine loop has died|Engine core proc \S+ died",
    ),
    _row(
        _CONSEQUENCE, D.EXECUTOR_FAILURE, "worker_died", "worker proc|workerproc|died, exit code",
        r"\bWorker ?[Pp]roc \S+ died unexpectedly|WorkerProc hit an exception"
        r"|WorkerProc initialization failed|Worker \S+ pid \d+ died, exit code",
    ),
    _row(_CONSEQUENCE, D.EXECUTOR_FAILURE, "executor_failed", "executor failed", r"(?i:\bexecutor failed\b)"),
    # Ray 2.x.
    _row(
        _CONSEQUENCE, D.EXECUTOR_FAILURE, "ray_actor_died", "died|is dead",
        r"\bActorDiedError\b|The actor (?:died|is dead)|A worker died or was killed while executing a task"
        r"|The worker died unexpectedly",
    ),
    _row(
        _CONSEQUENCE, D.EXECUTOR_FAILURE, "ray_actor_error", "ray.exceptions",
        r"\bray\.exceptions\.(?:RayActorError|ActorUnavailableError|WorkerCrashedError|NodeDiedError"
        r"|OwnerDiedError|LocalRayletDiedError)\b",
    ),
    _row(_CONSEQUENCE, D.RUNTIME, "ray_unhandled", "unhandled error", r"^Unhandled error \(suppress with"),
    # Hydra, torchrun, srun, subprocess: they report that something below them failed.
    _row(_CONSEQUENCE, D.RUNTIME, "hydra_job", "error executing job", r"^Error executing job with overrides"),
    _row(
        _CONSEQUENCE, D.RUNTIME, "torchrun", "childfailederror|sigterm|exitcode",
        r"\bChildFailedError\b|closing signal SIGTERM|SIGTERM death signal"
        r"|failed \(exitcode: -?\d+\) local_rank",
    ),
    _row(
        _CONSEQUENCE, D.RUNTIME, "srun", "srun",
        r"srun: error: .*(?:Exited with exit code|Terminated)|srun: Job step aborted",
    ),
    _row(_CONSEQUENCE, D.RUNTIME, "called_process", "calledprocesserror", r"\bCalledProcessError: Command"),
    # NCCL and c10d on ranks whose peer is gone.
    _row(
        _CONSEQUENCE, D.RUNTIME, "collective_aborted",
        "ncclcomm|nccl communicator|ncclunhandled|ncclsystem|ncclinternal|ncclremote|ncclinvalid"
        "|distbackenderror|closed by|reset by|brokenpipeerror|eoferror|connectionreseterror"
        "|process down",
        r"\bnccl(?:UnhandledCuda|System|Internal|Remote|InvalidUsage)Error\b|\bDistBackendError\b"
        r"|NCCL communicator was aborted|Connection (?:reset|closed) by (?:remote )?peer|\bBrokenPipeError\b"
        r"|^EOFError\b|\bConnectionResetError\b|\bncclCommAbort\b|taking the entire process down",
    ),
    _row(
        _CONSEQUENCE, D.RUNTIME, "loader_exited", "exited unexpectedly",
        r"DataLoader worker \(pid\(s\) [\d, ]+\) exited unexpectedly",
    ),
]  # fmt: skip

EXCEPTIONS = [
    # C runtime and Python.
    _row(
        _ERROR, D.RUNTIME, "crash",
        "segmentation fault|killed by signal|fatal python error|terminate called|aborted",
        r"Segmentation fault\b|killed by signal: \w+|^Fatal Python error: "
        r"|^terminate called after|Aborted \(core",
    ),
    # Last line of any Python traceback.
    _row(
        _ERROR, D.RUNTIME, "python_exception", "error|exception|failure|exceeded|unavailable",
        r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failure|Exceeded|Unavailable)(?:\([^)]*\))?(?::\s|:?\s*$)"
        r"|^Exception: ",
        gate=r"(?-i:\w(?:Error|Exception|Failure|Exceeded|Unavailable)(?:[(:\s]|\z)|\bException: )",
    ),
]  # fmt: skip
