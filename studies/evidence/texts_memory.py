"""Rows of the table that speak of memory: the device's, the host's, and neither in spite of the words."""

from __future__ import annotations

from studies.evidence.diagnoses import Diagnosis as D
from studies.evidence.rule import Role
from studies.evidence.rule import row as _row

_CAUSE, _CONSEQUENCE, _ADVICE = Role.CAUSE, Role.CONSEQUENCE, Role.ADVICE

NOT_CAUSES = [
    # vLLM 0.4-0.8 scheduler: a request is put aside and computed again; nothing fails.
    _row(_ADVICE, None, "vllm_preemption", "preempted by", r"is preempted by PreemptionMode"),
    # Ray raylet: the link under a report of kills.
    _row(
        _ADVICE, None, "ray_oom_docs", "how to address the out of memory", r"how to address the out of memory"
    ),
    # Slurm up to 20.02: the limit was touched, for instance by the page cache; says nothing about a kill.
    _row(
        _ADVICE, None, "slurm_touched_limit", "at some point",
        r"[Ee]xceeded \w+ memory limit at some point",
    ),
    # Ray, every version: lists an out-of-memory kill among possible reasons of a lost worker.
    _row(
        _CONSEQUENCE, D.EXECUTOR_FAILURE, "ray_worker_vanished", "connection error code",
        r"unexpectedly exits with a connection error code",
    ),
    # Ray raylet: the same sentence as a memory kill, with a zero in the decisive place.
    _row(
        _CONSEQUENCE, D.EXECUTOR_FAILURE, "ray_workers_crashed", "killed due to memory pressure",
        r"\b0 Workers \(tasks / actors\) killed due to memory pressure",
    ),
]  # fmt: skip

GENERATION_START = [
    # vLLM 0.8 and later, worker start-up (`init_device`); some versions name the device.
    _row(
        _CAUSE, D.ROLLOUT_INIT_MEMORY, "vllm_free_memory", "is less than desired gpu memory",
        r"Free memory on device\b.*\bon startup is less than desired GPU memory utilization",
    ),
    # vLLM 0.2 and later, sizing of the cache.
    _row(
        _CAUSE, D.KV_CACHE_MEMORY, "vllm_no_cache_blocks", "for the cache blocks",
        r"No available memory for the cache blocks",
    ),
    # vLLM 0.2-0.8, after sizing the cache.
    _row(
        _CAUSE, D.KV_CACHE_MEMORY, "vllm_cache_too_short", "that can be stored in",
        r"max seq len \(\d+\) is larger than the maximum number of tokens that can be stored in",
    ),
    # vLLM 0.7 and later; the sentence may start on its own line.
    _row(
        _CAUSE, D.KV_CACHE_MEMORY, "vllm_one_request", "to serve at least one request",
        r"To serve at least one request with the models?'?s? max seq len",
    ),
    # vLLM 0.6 and later, warm-up of the sampler or the pooler.
    _row(
        _CAUSE, D.ROLLOUT_INIT_MEMORY, "vllm_warm_up", "occurred when warming up",
        r"CUDA out of memory occurred when warming up",
    ),
    # SGLang, sizing of the token pool.
    _row(
        _CAUSE, D.KV_CACHE_MEMORY, "sglang_static_memory", "--mem-fraction-static",
        r"Not enough memory\. Please try to increase --mem-fraction-static",
    ),
    # SGLang, capture of CUDA graphs.
    _row(
        _CAUSE, D.ROLLOUT_INIT_MEMORY, "sglang_graph_capture", "capture cuda graph failed",
        r"Capture (?:CUDA|cuda) graph failed:.*out of memory",
    ),
]  # fmt: skip

CUDA_LIBRARIES = [
    # cuDNN 9: the host's allocation, one word apart from the device's.
    _row(
        _CAUSE, D.HOST_MEMORY, "cudnn_host_allocation", "host_allocation_failed",
        r"CUDNN_STATUS_\w*HOST_ALLOCATION_FAILED",
    ),
    # cuDNN 9.
    _row(
        _CAUSE, D.CUDA_LIBRARY_ALLOCATION, "cudnn_device_allocation", "device_allocation_failed",
        r"CUDNN_STATUS_\w*DEVICE_ALLOCATION_FAILED",
    ),
    # cuBLAS, cuDNN, cuSOLVER, cuSPARSE, cuRAND status codes as PyTorch prints them.
    _row(
        _CAUSE, D.CUDA_LIBRARY_ALLOCATION, "cuda_library_status", "alloc_failed|allocation_failed",
        r"\bCU(?:BLAS|DNN|SOLVER|SPARSE|RAND)_STATUS_ALLOC(?:ATION)?_FAILED\b|\bCUFFT_ALLOC_FAILED\b",
    ),
    # cuSPARSE, for a workspace that does not fit.
    _row(
        _CAUSE, D.CUDA_LIBRARY_ALLOCATION, "cusparse_resources", "cusparse_status_insuff",
        r"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES",
    ),
    # NCCL, a buffer in page-locked host memory; follows the line of the next rule and changes its meaning.
    _row(
        _CAUSE, D.HOST_MEMORY, "nccl_host_buffer", "cuda host alloc",
        r"\bFailed to CUDA host alloc\b",
    ),
    # NCCL 2.x, with NCCL_DEBUG=WARN or as "Last error:" of PyTorch; the number came with 2.18.
    _row(
        _CAUSE, D.CUDA_LIBRARY_ALLOCATION, "nccl_cuda_failure", "cuda failure",
        r"Cuda failure (?:\d+ )?['\"]?out of memory",
    ),
    # NCCL 2.x, a buffer on the device: its own warning, or the "Last error:" that PyTorch quotes without it.
    _row(
        _CAUSE, D.CUDA_LIBRARY_ALLOCATION, "nccl_device_buffer", "failed to cuda",
        r"\bFailed to CUDA (?:m|c)alloc\b",
    ),
]  # fmt: skip

HOST_ALLOCATIONS = [
    # CUDA runtime and driver: page-locked host memory.
    _row(
        _CAUSE, D.HOST_MEMORY, "cuda_host_alloc", "hostalloc|mallochost|hostregister",
        r"\b(?:cudaHostAlloc|cudaMallocHost|cudaHostRegister|cuMemHostAlloc)\b.*(?:fail|out of memory)",
    ),
    # The memory saver under SGLang: its copy of what it takes off the device, in page-locked memory.
    _row(
        _CAUSE, D.HOST_MEMORY, "memory_saver_backup", "func=pause",
        r"\b(?:CUresult|cudaError) error:?\s+(?:result=)?2\b.*\bfunc=pause\b",
    ),
    # PyTorch 1.x and 2.x, allocation on the processor.
    _row(
        _CAUSE, D.HOST_MEMORY, "torch_cpu_allocator", "defaultcpuallocator",
        r"DefaultCPUAllocator: (?:can't allocate|not enough) memory",
    ),
    # NumPy.
    _row(
        _CAUSE, D.HOST_MEMORY, "numpy_memory", "arraymemoryerror", r"\b_?ArrayMemoryError: Unable to allocate"
    ),
    # Python and Arrow.
    _row(
        _CAUSE, D.HOST_MEMORY, "python_memory_error", "memoryerror",
        r"^(?:MemoryError(?::|\s*$)|pyarrow\.lib\.ArrowMemoryError: )",
    ),
    # C++ runtime.
    _row(
        _CAUSE, D.HOST_MEMORY, "bad_alloc", "bad_alloc",
        r"(?:what\(\):|instance of|Error:).*std::bad_alloc",
    ),
    # TensorFlow's allocators on the processor.
    _row(
        _CAUSE, D.HOST_MEMORY, "tensorflow_cpu", "oom when allocating tensor",
        r"OOM when allocating tensor.*\ballocator (?:cpu|mklcpu|cuda_host_bfc|gpu_host_bfc)\b",
    ),
    # Linux errno 12, as Python, Java and the shell print it.
    _row(
        _CAUSE, D.HOST_MEMORY, "errno_12", "cannot allocate memory",
        r"(?:\[Errno 12\]|errno[ :=]+12\b.*|\bfork: )\s*Cannot allocate memory",
    ),
]  # fmt: skip

DEVICE_MEMORY = [
    # PyTorch 1.13 and later. Ray repeats the class in front of a nested trace: not that form.
    _row(
        _CAUSE, D.CUDA_OOM, "torch_oom_class", "outofmemoryerror:",
        r"\btorch(?:\.cuda)?\.OutOfMemoryError: \S",
        unless=r"\btorch(?:\.cuda)?\.OutOfMemoryError: ray::", by_place=True,
    ),
    # PyTorch of every version; HIP and XPU builds say the same.
    _row(
        _CAUSE, D.CUDA_OOM, "torch_oom_text", "out of memory. tried to allocate",
        r"\b(?:CUDA|HIP|XPU|NPU) out of memory\. Tried to allocate", by_place=True,
    ),
    # PyTorch up to 1.12, and loggers that print the message of the exception alone.
    _row(
        _CAUSE, D.CUDA_OOM, "torch_oom_runtime_error", "out of memory",
        r"(?:^|\b[A-Z]\w*Error: )(?:CUDA|HIP) out of memory\b", by_place=True,
    ),
    # The same message with its head cut off; "capacty" is how PyTorch 2.1 spelt it.
    _row(
        _CAUSE, D.CUDA_OOM, "torch_oom_tail", "tried to allocate",
        r"Tried to allocate [\d.]+ ?[KMGT]i?B\b.*\bGPU \d+.*\btotal capaci?ty", by_place=True,
    ),
    # vLLM's sleep-mode allocator, on wake-up.
    _row(
        _CAUSE, D.CUDA_OOM, "vllm_cumem", "cumem_allocator",
        r"CUDA Error: out of memory at .*cumem_allocator", by_place=True,
    ),
    # CUDA runtime through PyTorch (2.8 calls the class AcceleratorError), and the driver.
    _row(
        _CAUSE, D.CUDA_OOM, "cuda_error_oom", "error: out of memory",
        r"\b(?:CUDA|HIP) (?:driver )?error: out of memory", by_place=True, host_if_pinned=True,
    ),
    # CUDA runtime and driver status names, with the sentences around them that report a failure.
    _row(
        _CAUSE, D.CUDA_OOM, "cuda_status_oom",
        "cudaerrormemoryallocation|cuda_error_out_of_memory|cudamalloc",
        by_place=True, host_if_pinned=True,
        pattern=r"\bcudaErrorMemoryAllocation\b|\bCUDA_ERROR_OUT_OF_MEMORY\b"
        r"|\bcudaMalloc(?:Async)? failed: out of memory",
    ),
    # The memory saver under SGLang and slime: the driver's status 2 for memory of the device. Its note that
    # the caller will free its cache and ask again is another line, and no failure.
    _row(
        _CAUSE, D.CUDA_OOM, "memory_saver_oom", "curesult error|cudaerror error",
        r"\b(?:CUresult|cudaError) error:?\s+(?:result=)?2\b", by_place=True,
    ),
    # Wrappers of the driver that print its status as a number.
    _row(
        _CAUSE, D.CUDA_OOM, "driver_status_2", "cumemcreate|cumemalloc",
        r"\bcuMem(?:Create|Alloc\w*)\b.*\b(?:error|status|result|returned|failed with)[ :=(]+2\b",
        by_place=True,
    ),
    # Triton, loading a kernel.
    _row(
        _CAUSE, D.CUDA_OOM, "triton_oom", "triton error", r"Triton Error \[CUDA\]: out of memory",
        by_place=True,
    ),
    # CuPy.
    _row(
        _CAUSE, D.CUDA_OOM, "cupy_oom", "out of memory allocating",
        r"cupy\.cuda\.memory\.OutOfMemoryError: Out of memory allocating", by_place=True,
    ),
    # JAX on GPUs.
    _row(
        _CAUSE, D.CUDA_OOM, "xla_oom", "resource_exhausted",
        r"RESOURCE_EXHAUSTED: Out of memory (?:while trying to allocate|allocating)", by_place=True,
    ),
    # XLA's compiler for TPUs. The on-chip scratch memories (vmem, smem) are not the device's memory.
    _row(
        _CAUSE, D.CUDA_OOM, "xla_hbm", "in memory space hbm", r"[Rr]an out of memory in memory space hbm\b",
        by_place=True,
    ),
    # XLA's runtime on TPUs: a buffer, or the program itself, finds no room.
    _row(
        _CAUSE, D.CUDA_OOM, "xla_tpu_runtime", "that was not possible",
        r"Attempting to (?:allocate|reserve) [\d.]+[KMG].*That was not possible\.", by_place=True,
    ),
    # TensorFlow: the allocator's name says whose memory it is.
    _row(
        _CAUSE, D.CUDA_OOM, "tensorflow_oom", "oom when allocating tensor",
        r"OOM when allocating tensor.*(?:\ballocator GPU_\d+_bfc\b|device:GPU:\d+ by allocator)",
        by_place=True,
    ),
    # TensorFlow's allocator, before the operation fails, or does without.
    _row(
        _CONSEQUENCE, D.CUDA_OOM, "tensorflow_allocator", "ran out of memory trying to allocate",
        r"Allocator \(GPU_\d+_bfc\) ran out of memory trying to allocate",
    ),
    # bitsandbytes, from its C++ part.
    _row(
        _CAUSE, D.CUDA_OOM, "bitsandbytes_oom", "error out of memory at line",
        r"Error out of memory at line \d+ in file", by_place=True,
    ),
]  # fmt: skip

HOST_KILLS = [
    # Ray's memory monitor, as the exception of the task.
    _row(
        _CAUSE, D.HOST_MEMORY, "ray_oom_exception", "outofmemoryerror",
        r"\bray\.exceptions\.OutOfMemoryError: ",
    ),
    # Ray's memory monitor, first sentence or body of that exception.
    _row(
        _CAUSE, D.HOST_MEMORY, "ray_low_memory", "running low on memory",
        r"killed due to the node running low on memory",
    ),
    # Ray raylet, the periodic report.
    _row(
        _CAUSE, D.HOST_MEMORY, "ray_memory_pressure", "killed due to memory pressure",
        r"\b[1-9]\d* Workers \(tasks / actors\) killed due to memory pressure \(OOM\)",
    ),
    # Ray's memory monitor, the long sentence with the numbers.
    _row(
        _CAUSE, D.HOST_MEMORY, "ray_threshold", "exceeds the memory usage threshold",
        r"exceeds the memory usage threshold of [\d.]+\. Ray killed this worker",
    ),
    # Slurm 18-24, step daemon: "oom-kill event(s)" until 21.08, "oom_kill event" since.
    _row(
        _CAUSE, D.HOST_MEMORY, "slurm_oom_kill",
        "oom-kill event|oom_kill event",
        r"\bDetected [1-9]\d* oom[-_]kill event"
    ),
    # Slurm, srun and seff.
    _row(
        _CAUSE, D.HOST_MEMORY, "slurm_task_oom", "out of memory|out_of_memory",
        r"srun: error: \S+: tasks? [\d,-]+: Out Of Memory|\bState: OUT_OF_MEMORY\b",
    ),
    # Slurm with JobAcctGather limits.
    _row(
        _CAUSE, D.HOST_MEMORY, "slurm_exceeded", "memory limit",
        r"[Ee]xceeded (?:job|step) memory limit|exceeded memory limit \(\d+ > \d+\), being killed",
    ),
    # Linux kernel log; the second form is the victim inside a control group.
    _row(
        _CAUSE, D.HOST_MEMORY, "kernel_oom", "out of memory: kill",
        r"(?:^|\]\s?|kernel:\s.*|cgroup )[Oo]ut of memory: Kill(?:ed)? process \d+",
    ),
    _row(
        _CAUSE, D.HOST_MEMORY, "kernel_invoked", "oom-kill",
        r"\binvoked oom-killer:|\boom-kill:constraint=",
    ),
    _row(_CAUSE, D.HOST_MEMORY, "kernel_reaper", "oom_reaper", r"\boom_reaper: reaped process \d+"),
    # systemd, Kubernetes and container runtimes.
    _row(
        _CAUSE, D.HOST_MEMORY, "oom_killed", "oom killer|oomkilled|systemd-oomd",
        r"\bsystemd-oomd\b.*: Killed .* due to memory|killed by the OOM killer\b|\bOOMKilled\b",
        unless=r"\bOOMKilled\W+false\b",
    ),
]  # fmt: skip
