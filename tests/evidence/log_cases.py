"""Log texts in the form that programs print, each with the outcome that it must lead to.

The mark `»` stands in front of the line that must decide; it is taken out before the log is read.
"""

# ruff: noqa: E501  (the texts are as long as programs print them)
from __future__ import annotations

from dataclasses import dataclass

MARK = "»"


@dataclass(frozen=True)
class LogCase:
    """One log, its exit code, and what must come out."""

    name: str
    diagnosis: str | None
    marked: str
    exit_code: int | None = 1

    @property
    def text(self) -> str:
        return self.marked.replace(MARK, "")

    @property
    def line(self) -> int | None:
        """Number of the marked line, or None where no line of the log decides."""
        for number, line in enumerate(self.marked.split("\n"), start=1):
            if MARK in line:
                return number
        return None

    @property
    def outcome(self) -> str:
        if self.diagnosis is None:
            return "completed"
        return "memory_failure" if self.diagnosis in GPU_MEMORY else "unresolved"


GPU_MEMORY = {
    "cuda_oom", "weight_sync_oom", "rollout_init_memory", "kv_cache_memory", "cuda_library_allocation",
}  # fmt: skip

STEP_1 = (
    "(TaskRunner pid=41) step:1 - global_seqlen/min:4121 - actor/entropy:0.412 - actor/pg_loss:0.003"
    " - perf/max_memory_allocated_gb:31.2 - training/global_step:1 - training/epoch:0 - critic/score/mean:0.31"
)

HEALTHY = (
    "(TaskRunner pid=41) Total training steps: 1",
    "(WorkerDict pid=88) Before building sglang rollout, memory allocated (GB): 0.0, memory reserved (GB): 0.0",
    "Training Progress:   0%|          | 0/1 [00:00<?, ?it/s]",
    "(WorkerDict pid=88) kwargs: {'n': 5, 'logprobs': 0, 'max_tokens': 1024}",
    "INFO 09-15 15:52:40 [gpu_model_runner.py:2007] Model loading took 14.25 GiB and 5.2 seconds",
    "INFO 09-15 15:52:55 [kv_cache_utils.py:864] GPU KV cache size: 182,432 tokens",
    "(raylet) [2026-09-15 15:52:55] file_system_monitor.cc:116: /tmp/ray is over 95% full, available space: 9 GB",
    "",
    "wandb: Syncing run grpo_c2_s151",
)


CASES: tuple[LogCase, ...] = (
    # ---- PyTorch: the device's memory in training -------------------------------------------------------
    LogCase("torch 2.6 in the actor update", "cuda_oom", """\
(TaskRunner pid=41) Total training steps: 1
(WorkerDict pid=88) Traceback (most recent call last):
(WorkerDict pid=88)   File "/opt/verl/workers/actor/dp_actor.py", line 412, in update_policy
(WorkerDict pid=88)     loss.backward()
»(WorkerDict pid=88) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.71 GiB. GPU 0 has a total capacity of 39.39 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 38.18 GiB memory in use. Of the allocated memory 34.10 GiB is allocated by PyTorch, and 2.95 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.
"""),
    LogCase("torch 2.1 with the class under torch.cuda", "cuda_oom", """\
Traceback (most recent call last):
  File "/opt/train/main.py", line 210, in <module>
    main()
»torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 298.00 MiB. GPU 1 has a total capacty of 39.39 GiB of which 31.06 MiB is free. Process 91734 has 39.35 GiB memory in use.
"""),
    LogCase("torch 1.11 as a plain RuntimeError", "cuda_oom", """\
Traceback (most recent call last):
  File "train.py", line 91, in <module>
    out = model(**batch)
»RuntimeError: CUDA out of memory. Tried to allocate 2.25 GiB (GPU 0; 39.59 GiB total capacity; 35.91 GiB already allocated; 1.19 GiB free; 36.20 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF
"""),
    LogCase("torch on ROCm", "cuda_oom", """\
»torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1024.00 MiB. GPU 3 has a total capacity of 63.98 GiB of which 612.00 MiB is free.
"""),
    LogCase("runtime error without an allocator message", "cuda_oom", """\
Traceback (most recent call last):
  File "/opt/train/main.py", line 18, in setup
    torch.cuda.set_device(rank)
»RuntimeError: CUDA error: out of memory
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
"""),
    LogCase("torch 2.8 with the accelerator class", "cuda_oom", """\
»torch.AcceleratorError: CUDA error: out of memory
Search for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda/cuda-runtime-api for more information.
"""),
    LogCase("expandable segments through the driver", "cuda_oom", """\
»RuntimeError: CUDA driver error: out of memory
"""),
    LogCase("torchrun, four ranks with prefixes", "cuda_oom", """\
[rank3]: Traceback (most recent call last):
[rank3]:   File "/opt/train/fsdp.py", line 77, in training_step
[rank3]:     loss.backward()
»[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.42 GiB. GPU 3 has a total capacity of 39.39 GiB of which 1.01 GiB is free.
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.42 GiB. GPU 1 has a total capacity of 39.39 GiB of which 0.99 GiB is free.
W0915 15:55:02.131000 4711 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 4712 closing signal SIGTERM
E0915 15:55:07.731000 4711 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) local_rank: 3 (pid: 4715) of binary: /usr/bin/python
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""),
    LogCase("nested in Ray, wrapper first", "cuda_oom", """\
Error executing job with overrides: ['algorithm.adv_estimator=grpo']
Traceback (most recent call last):
  File "/opt/verl/trainer/main_ppo.py", line 31, in main
    run_ppo(config)
ray.exceptions.RayTaskError(OutOfMemoryError): ray::TaskRunner.run() (pid=41, ip=10.1.0.7, actor_id=5c, repr=<main_ppo.TaskRunner object at 0x7f>)
  File "/opt/verl/trainer/ppo/ray_trainer.py", line 1044, in fit
    actor_output = self.actor_rollout_wg.update_actor(batch)
torch.OutOfMemoryError: ray::WorkerDict.actor_rollout_update_actor() (pid=88, ip=10.1.0.7)
  File "/opt/verl/workers/fsdp_workers.py", line 690, in update_actor
    metrics = self.actor.update_policy(data=data)
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.80 GiB. GPU 0 has a total capacity of 39.39 GiB of which 4.10 GiB is free.
"""),
    LogCase("head of the line lost", "cuda_oom", """\
»ory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB of which 1.52 GiB is free. Including non-PyTorch memory, this process has
"""),
    LogCase("log ends inside the message", "cuda_oom", """\
(WorkerDict pid=88)     loss.backward()
»(WorkerDict pid=88) torch.OutOfMemoryError: CUDA out of me"""),
    LogCase("Triton loading a kernel", "cuda_oom", """\
»RuntimeError: Triton Error [CUDA]: out of memory
"""),
    LogCase("CuPy pool", "cuda_oom", """\
»cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 4,294,967,296 bytes (allocated so far: 36,507,222,016 bytes).
"""),
    LogCase("JAX", "cuda_oom", """\
»jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.
"""),
    LogCase("driver status by name", "cuda_oom", """\
»RuntimeError: cuMemCreate failed with CUDA_ERROR_OUT_OF_MEMORY
"""),
    LogCase("bitsandbytes optimizer", "cuda_oom", """\
»Error out of memory at line 380 in file /src/csrc/pythonInterface.cpp
"""),
    LogCase("logger's message alone", "cuda_oom", """\
»2026-09-15 15:55:01,204 ERROR: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 39.39 GiB of which 9.06 MiB is free.
"""),
    # ---- weight sync ------------------------------------------------------------------------------------
    LogCase("verl update of the engine's weights", "weight_sync_oom", """\
(WorkerDict pid=88) Traceback (most recent call last):
(WorkerDict pid=88)   File "/opt/verl/workers/fsdp_workers.py", line 655, in rollout_mode
(WorkerDict pid=88)     await self.rollout.update_weights(per_tensor_param)
(WorkerDict pid=88)   File "/opt/verl/workers/rollout/vllm_rollout/vllm_rollout.py", line 118, in update_weights
(WorkerDict pid=88)     model.load_weights(weights)
»(WorkerDict pid=88) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB. GPU 0 has a total capacity of 39.39 GiB of which 0.61 GiB is free.
"""),
    LogCase("vLLM wake-up through the sleep allocator", "weight_sync_oom", """\
(WorkerDict pid=88)   File "/opt/verl/workers/sharding_manager/fsdp_vllm.py", line 79, in __enter__
(WorkerDict pid=88)     self.inference_engine.wake_up()
(WorkerDict pid=88)   File "/site-packages/vllm/device_allocator/cumem.py", line 207, in wake_up
(WorkerDict pid=88)     create_and_map(handle)
»(WorkerDict pid=88) RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62
(WorkerDict pid=89) CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62 [repeated 3x across cluster]
"""),
    # ---- generation engine start-up ---------------------------------------------------------------------
    LogCase("vLLM 0.9 free memory below the fraction", "rollout_init_memory", """\
(EngineCore_0 pid=90) ERROR 09-15 15:55:01 [core.py:515] EngineCore failed to start.
(EngineCore_0 pid=90) ERROR 09-15 15:55:01 [core.py:515] Traceback (most recent call last):
(EngineCore_0 pid=90) ERROR 09-15 15:55:01 [core.py:515]   File "/site-packages/vllm/v1/worker/gpu_worker.py", line 180, in init_device
(EngineCore_0 pid=90) ERROR 09-15 15:55:01 [core.py:515]     raise ValueError(
»(EngineCore_0 pid=90) ERROR 09-15 15:55:01 [core.py:515] ValueError: Free memory on device (11.52/39.39 GiB) on startup is less than desired GPU memory utilization (0.35, 13.79 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_0': 1}
"""),
    LogCase("vLLM 0.11 names the device", "rollout_init_memory", """\
[2026-09-15T20:21:58Z] (EngineCore_DP0 pid=6940)     raise value.as_instanceof_cause()
[2026-09-15T20:21:58Z] (EngineCore_DP0 pid=6940) ray.exceptions.RayTaskError(ValueError): ray::RayWorkerWrapper.execute_method() (pid=7106, ip=10.1.0.7, actor_id=ad5a)
»[2026-09-15T20:21:58Z] (EngineCore_DP0 pid=6940) ValueError: Free memory on device cuda:0 (19.77/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.
"""),
    LogCase("vLLM sampler warm-up", "rollout_init_memory", """\
ERROR 09-15 15:55:01 [core.py:390] Traceback (most recent call last):
ERROR 09-15 15:55:01 [core.py:390]   File "/site-packages/vllm/v1/worker/gpu_model_runner.py", line 1660, in _dummy_sampler_run
»ERROR 09-15 15:55:01 [core.py:390] RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.
"""),
    LogCase("vLLM graph capture", "rollout_init_memory", """\
(WorkerDict pid=88) INFO 09-15 15:54:40 [gpu_model_runner.py:1933] Graph capturing started
(WorkerDict pid=88) Traceback (most recent call last):
(WorkerDict pid=88)   File "/site-packages/vllm/v1/worker/gpu_worker.py", line 268, in compile_or_warm_up_model
(WorkerDict pid=88)     self.model_runner.capture_model()
(WorkerDict pid=88)   File "/site-packages/vllm/v1/worker/gpu_model_runner.py", line 1931, in capture_model
»(WorkerDict pid=88) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 258.00 MiB. GPU 0 has a total capacity of 39.39 GiB of which 201.06 MiB is free.
"""),
    LogCase("vLLM loading its weights", "rollout_init_memory", """\
Traceback (most recent call last):
  File "/site-packages/vllm/v1/worker/gpu_model_runner.py", line 1777, in load_model
    self.model = model_loader.load_model(vllm_config=self.vllm_config, model_config=self.model_config)
  File "/site-packages/vllm/model_executor/layers/linear.py", line 98, in create_weights
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 39.39 GiB of which 95.00 MiB is free.
"""),
    LogCase("engine process without a traceback, start-up failed", "rollout_init_memory", """\
»(EngineCore_0 pid=90) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB of which 1.02 GiB is free.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_0': 1}
"""),
    LogCase("SGLang graph capture", "rollout_init_memory", """\
»Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 39.39 GiB
Possible solutions:
1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)
"""),
    # ---- key-value cache --------------------------------------------------------------------------------
    LogCase("vLLM no cache blocks", "kv_cache_memory", """\
Traceback (most recent call last):
  File "/site-packages/vllm/v1/core/kv_cache_utils.py", line 511, in check_enough_kv_cache_memory
    raise ValueError("No available memory for the cache blocks. "
»ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
"""),
    LogCase("vLLM V0 sequence longer than the cache", "kv_cache_memory", """\
»ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache (15264). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
"""),
    LogCase("vLLM V1 one request does not fit", "kv_cache_memory", """\
»(EngineCore_0 pid=90) ERROR 09-15 20:33:48 [core.py:708] ValueError: To serve at least one request with the models's max seq len (40960), (5.62 GiB KV cache is needed, which is larger than the available KV cache memory (4.50 GiB). Based on the available memory, the estimated maximum model length is 32768. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
"""),
    LogCase("vLLM V1 with the sentence on its own line", "kv_cache_memory", """\
(EngineCore_0 pid=90) ERROR 09-15 20:33:48 [core.py:708] ValueError:
»(EngineCore_0 pid=90) ERROR 09-15 20:33:48 [core.py:708] To serve at least one request with the model's max seq len (40960), 5.62 GiB KV cache is needed
"""),
    LogCase("SGLang static fraction", "kv_cache_memory", """\
»RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.4
"""),
    # ---- inside CUDA libraries --------------------------------------------------------------------------
    LogCase("cuBLAS handle", "cuda_library_allocation", """\
»RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`
"""),
    LogCase("cuDNN 8", "cuda_library_allocation", """\
»RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED
"""),
    LogCase("cuDNN 9", "cuda_library_allocation", """\
»RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
"""),
    LogCase("cuSOLVER", "cuda_library_allocation", """\
»torch._C._LinAlgError: cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`
"""),
    LogCase("cuSPARSE", "cuda_library_allocation", """\
»RuntimeError: CUDA error: insufficient resources when calling `cusparseSpMM`: CUSPARSE_STATUS_INSUFFICIENT_RESOURCES
"""),
    LogCase("NCCL with its number, through PyTorch", "cuda_library_allocation", """\
[rank2]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.20.5
[rank2]: ncclUnhandledCudaError: Call to CUDA function failed.
[rank2]: Last error:
»[rank2]: Cuda failure 2 'out of memory'
"""),
    LogCase("NCCL's own warnings, older", "cuda_library_allocation", """\
»acn18:3063028:3066152 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'
acn18:3063028:3066152 [3] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 6291456 bytes
acn18:3063028:3066152 [3] NCCL INFO transport/p2p.cc:204 -> 1
"""),
    # ---- host memory ------------------------------------------------------------------------------------
    LogCase("Ray's monitor as an exception", "host_memory", """\
»ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
Memory on the node (IP: 10.1.0.7, ID: 2c0c) where the task (task ID: 76b2, name=WorkerDict.__init__, pid=88, memory used=45.05GB) was running was 187.41GB / 192.00GB (0.976), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: ba84) because it was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs raylet.out -ip 10.1.0.7`. Set max_restarts and max_task_retries to enable retry when the task crashes due to OOM.
"""),
    LogCase("Ray's periodic report", "host_memory", """\
»(raylet) [2026-09-15 15:57:31,241 E 111 111] (raylet) node_manager.cc:3064: 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: b8aa, IP: 10.1.0.7) over the last time period.
(raylet) Refer to the documentation on how to address the out of memory issue: https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html.
"""),
    LogCase("Slurm today", "host_memory", """\
(WorkerDict pid=88) INFO 09-15 15:57:20 [gpu_model_runner.py:1933] Graph capturing in progress
ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.
»slurmstepd: error: Detected 4 oom_kill events in StepId=5054954.batch. Some of the step tasks have been OOM Killed.
"""),
    LogCase("Slurm before 21.08", "host_memory", """\
»slurmstepd: error: Detected 1 oom-kill event(s) in step 370626.batch cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.
"""),
    LogCase("srun's report of a task", "host_memory", """\
»srun: error: acn18: task 0: Out Of Memory
"""),
    LogCase("Slurm's accounting limit", "host_memory", """\
»slurmstepd: error: Job 5054954 exceeded memory limit (201326592 > 196608000), being killed
slurmstepd: error: Exceeded job memory limit
"""),
    LogCase("kernel log, whole host", "host_memory", """\
»[1048576.123456] Out of memory: Killed process 4242 (ray::WorkerDict) total-vm:412345678kB, anon-rss:150000000kB, file-rss:0kB
"""),
    LogCase("kernel log, control group", "host_memory", """\
»kernel: Memory cgroup out of memory: Killed process 4242 (ray::WorkerDict) total-vm:412345678kB, anon-rss:150000000kB
"""),
    LogCase("kernel log from its first line", "host_memory", """\
»[1048576.1] ray::WorkerDict invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
[1048576.2] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_batch,mems_allowed=0-1
"""),
    LogCase("PyTorch's processor allocator", "host_memory", """\
»RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 15231483904 bytes. Error code 12 (Cannot allocate memory)
"""),
    LogCase("Python's own", "host_memory", """\
Traceback (most recent call last):
  File "/opt/train/data.py", line 12, in load
»MemoryError
"""),
    LogCase("NumPy", "host_memory", """\
»numpy.core._exceptions._ArrayMemoryError: Unable to allocate 29.8 GiB for an array with shape (4000000000,) and data type float64
"""),
    LogCase("C++", "host_memory", """\
»terminate called after throwing an instance of 'std::bad_alloc'
  what():  std::bad_alloc
""", 134),
    LogCase("fork refused", "host_memory", """\
»OSError: [Errno 12] Cannot allocate memory
"""),
    LogCase("page-locked memory says the device's words", "host_memory", """\
Caught RuntimeError in pin memory thread for device 0.
Traceback (most recent call last):
  File "/site-packages/torch/utils/data/_utils/pin_memory.py", line 61, in pin_memory
    return data.pin_memory(device)
»RuntimeError: CUDA error: out of memory
"""),
    LogCase("NCCL's page-locked buffer", "host_memory", """\
»acn18:30:66 [0] include/alloc.h:46 NCCL WARN Cuda failure 2 'out of memory'
acn18:30:66 [0] include/alloc.h:52 NCCL WARN Failed to CUDA host alloc 4194304 bytes
"""),
    LogCase("cuDNN's allocation on the host", "host_memory", """\
»RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED
"""),
    LogCase("vLLM's copy of the weights in page-locked memory", "host_memory", """\
  File "/site-packages/vllm/device_allocator/cumem.py", line 190, in sleep
    cpu_backup_tensor = torch.empty(size_in_bytes, dtype=torch.uint8, device='cpu', pin_memory=is_pin_memory_available())
»RuntimeError: CUDA error: out of memory
"""),
    LogCase("systemd's own killer", "host_memory", """\
»acn18 systemd-oomd[812]: Killed /system.slice/slurmstepd.scope/job_5054954 due to memory pressure for /system.slice being 81.20% > 60.00% for > 20s with reclaim activity
"""),
    LogCase("a container was killed", "host_memory", """\
»    Reason:       OOMKilled
""", 137),
    # ---- executors lost, killed -------------------------------------------------------------------------
    LogCase("Ray lists an out-of-memory kill among possible reasons", "vllm_executor_failure", """\
»(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker.
ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.
The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.
"""),
    LogCase("vLLM's worker is gone", "vllm_executor_failure", """\
»(EngineCore_0 pid=90) ERROR 09-15 15:57:31 [multiproc_executor.py:140] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.
vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.
"""),
    LogCase("Ray reports crashes, none by pressure", "vllm_executor_failure", """\
»(raylet) node_manager.cc:3064: 0 Workers (tasks / actors) killed due to memory pressure (OOM), 3 Workers crashed due to other reasons at node (ID: b8aa, IP: 10.1.0.7) over the last time period.
"""),
    LogCase("the shell saw a kill", "killed_unknown_cause", """\
»/opt/study/run.sh: line 42: 91734 Killed                  python -m verl.trainer.main_ppo
""", 137),
    LogCase("torchrun saw a kill", "killed_unknown_cause", """\
»E0915 15:57:31.731000 4711 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 0 (pid: 4712) of binary: /usr/bin/python
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
traceback : Signal 9 (SIGKILL) received by PID 4712
"""),
    LogCase("a loader worker was killed", "killed_unknown_cause", """\
»RuntimeError: DataLoader worker (pid 91801) is killed by signal: Killed.
"""),
    LogCase("exit 137 and a healthy log", "killed_unknown_cause", "\n".join(HEALTHY) + "\n", 137),
    # ---- faults that are no exhaustion ------------------------------------------------------------------
    LogCase("illegal access", "device_fault", """\
»RuntimeError: CUDA error: an illegal memory access was encountered
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
"""),
    LogCase("misaligned address", "device_fault", """\
»torch.AcceleratorError: CUDA error: misaligned address
"""),
    LogCase("device-side assert", "device_fault", """\
»RuntimeError: CUDA error: device-side assert triggered
"""),
    LogCase("uncorrectable memory error", "device_fault", """\
»RuntimeError: CUDA error: uncorrectable ECC error encountered
"""),
    LogCase("device lost", "device_fault", """\
»[8812.1] NVRM: GPU at PCI:0000:4e:00: GPU has fallen off the bus.
[8812.1] NVRM: Xid (PCI:0000:4e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
"""),
    LogCase("shared memory of a multiprocessor", "runtime", """\
»triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.
"""),
    LogCase("shared-memory file system, loader", "environment", """\
»ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).
RuntimeError: DataLoader worker (pid 91801) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.
"""),
    LogCase("shared-memory file system, NCCL", "environment", """\
»acn18:30:66 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-a1B2c3 to 33030532 bytes
"""),
    LogCase("shared-memory file system, a tensor's file", "environment", """\
»RuntimeError: unable to mmap 1024 bytes from file </torch_412_3821_0>: Cannot allocate memory (12)
"""),
    LogCase("Ray's object store", "environment", """\
»ray.exceptions.ObjectStoreFullError: Failed to put object 00ff in object store because it is full. Object size is 8589934592 bytes.
"""),
    LogCase("file descriptors behind a queue", "environment", """\
»RuntimeError: received 0 items of ancdata
"""),
    LogCase("file descriptors", "environment", """\
»OSError: [Errno 24] Too many open files
"""),
    LogCase("disk full, which Linux calls a device", "environment", """\
»OSError: [Errno 28] No space left on device
"""),
    LogCase("driver too old", "environment", """\
»RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver.
"""),
    LogCase("fatal import", "environment", """\
Traceback (most recent call last):
  File "/opt/verl/trainer/main_ppo.py", line 7, in <module>
»ModuleNotFoundError: No module named 'flash_attn'
"""),
    # ---- set-up -----------------------------------------------------------------------------------------
    LogCase("UUID mask read as a number", "configuration", """\
  File "/site-packages/vllm/platforms/cuda.py", line 42, in device_id_to_physical_device_id
    return int(physical_device_id)
»ValueError: invalid literal for int() with base 10: 'GPU-8f6e1c3a-22a1-4c0e-9a51-f8d4a7c1b0e2'
"""),
    LogCase("Hydra override", "configuration", """\
»Could not override 'actor_rollout_ref.actor.micro_batch'.
Key 'micro_batch' is not in struct
"""),
    LogCase("batch not divisible", "configuration", """\
»AssertionError: real_train_batch_size (250) must be divisible by minimal possible batch size (4)
"""),
    LogCase("heads not divisible", "configuration", """\
»ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).
"""),
    LogCase("length beyond the model's", "configuration", """\
»ValueError: User-specified max_model_len (65536) is greater than the derived max_model_len (max_position_embeddings=32768 or model_max_length=None in model's config.json).
"""),
    LogCase("fraction above one", "configuration", """\
»ValueError: GPU memory utilization must be less than 1.0. Got 1.2.
"""),
    LogCase("argparse", "configuration", """\
»main_ppo.py: error: unrecognized arguments: --micro-batch 4
""", 2),
    LogCase("swap space beyond the host's memory", "configuration", """\
»ValueError: Too large swap space. 64.00 GiB out of the 60.00 GiB total CPU memory is allocated for the swap space.
"""),
    LogCase("fewer devices than the pool wants", "insufficient_allocated_gpus", """\
»ValueError: Total available GPUs 2 is less than total desired GPUs 4
"""),
    LogCase("mask names a device that is not there", "insufficient_allocated_gpus", """\
»RuntimeError: CUDA error: invalid device ordinal
"""),
    LogCase("port taken", "distributed_port_collision", """\
[W915 15:50:01.1 socket.cpp:464] [c10d] The server socket cannot be initialized on [::]:29500
»torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use
"""),
    LogCase("no training data", "empty_dataloader", """\
»(TaskRunner pid=41) AssertionError: Train dataloader is empty!
"""),
    LogCase("hub refuses", "hf_rate_limit", """\
Traceback (most recent call last):
  File "/site-packages/requests/models.py", line 1024, in raise_for_status
»requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/models/Qwen/Qwen2.5-7B-Instruct

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.
"""),
    LogCase("time limit", "timeout", """\
»slurmstepd: error: *** JOB 5055846 ON acn18 CANCELLED AT 2026-09-15T19:27:18 DUE TO TIME LIMIT ***
""", 143),
    LogCase("collective waits for nobody", "timeout", """\
»[rank0]:[E915 15:57:31.1 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=_ALLGATHER_BASE, NumelIn=1, NumelOut=4, Timeout(ms)=600000) ran for 600051 milliseconds before timing out.
[rank0]: torch.distributed.DistBackendError: NCCL communicator was aborted on rank 0.
""", 134),
    LogCase("launcher's own limit", "timeout", """\
»timeout: sending signal TERM to command 'python'
""", 124),
    LogCase("preempted", "preempted", """\
»slurmstepd: error: *** JOB 5055846 ON acn18 CANCELLED AT 2026-09-15T19:27:18 DUE TO PREEMPTION ***
""", 143),
    LogCase("software error", "runtime", """\
Traceback (most recent call last):
  File "/opt/verl/trainer/ppo/core_algos.py", line 88, in compute_advantage
»KeyError: 'token_level_rewards'
"""),
    LogCase("segmentation fault", "runtime", """\
»Fatal Python error: Segmentation fault
""", 139),
    # ---- completed, and nearly ---------------------------------------------------------------------------
    LogCase("completed", None, "\n".join(HEALTHY) + "\n" + MARK + STEP_1 + "\n", 0),
    LogCase("completed, older decimals", None, f"{MARK}step:1 - actor/kl:0.000 - training/global_step:1.000 - x:1\n", 0),
    LogCase("completed, progress bar never moved", None, f"""\
Training Progress:   0%|          | 0/1 [00:00<?, ?it/s]
»{STEP_1}
(TaskRunner pid=41) Training Progress:   0%|          | 0/1 [06:12<?, ?it/s]
""", 0),
    LogCase("exit 0 without the record", "missing_completion_evidence", """\
(WorkerDict pid=88) update_actor returned after 41.2 s
»(TaskRunner pid=41) synchronization finished, shutting down Ray
""", 0),
    LogCase("record, but another exit code and no word why", "missing_evidence", f"{STEP_1}\n{MARK}bye\n", 3),
    LogCase("record of another step", "missing_completion_evidence", f"""\
»{STEP_1.replace('step:1', 'step:2')}
""", 0),
    LogCase("validation record only", "missing_completion_evidence", """\
»(TaskRunner pid=41) step:0 - val-core/openai/gsm8k/reward/mean@1:0.512
""", 0),
    # ---- one line each: the forms that no log above has ---------------------------------------------------
    LogCase("CUDA's page-locked allocator", "host_memory", "»cudaMallocHost failed: out of memory\n"),
    LogCase("Ray's monitor without its class", "host_memory", "»Task was killed due to the node running low on memory.\n"),
    LogCase("kernel log from its last line", "host_memory", "»[8812.9] oom_reaper: reaped process 4242 (python), now anon-rss:0kB\n", 137),
    LogCase("torch 1.7 in few words", "cuda_oom", "»RuntimeError: CUDA out of memory\n"),
    LogCase("bitsandbytes, illegal access", "device_fault", "»Error an illegal memory access was encountered at line 90 in file /src/csrc/ops.cu\n"),
    LogCase("kernel log names an Xid", "device_fault", "»[8812.1] NVRM: Xid (PCI:0000:4e:00): 31, pid=4242, name=python, Ch 00000008\n"),
    LogCase("shared-memory segment", "environment", "»RuntimeError: unable to open shared memory object </torch_412> in read-write mode\n"),
    LogCase("no device visible", "environment", "»RuntimeError: No CUDA GPUs are available\n"),
    LogCase("library missing", "environment", "»ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n"),
    LogCase("library of another version", "environment", "»ImportError: /site-packages/flash_attn.so: undefined symbol: _ZN3c104cuda9SetDeviceEi\n"),
    LogCase("batched tokens below the length", "configuration", "»ValueError: max_num_batched_tokens (2048) is smaller than max_model_len (4096). This effectively limits the maximum sequence length\n"),
    LogCase("model that does not exist", "configuration", "»OSError: Qwen/Qwen9 is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'\n"),
    LogCase("node lost", "environment", "»slurmstepd: error: *** JOB 5055846 ON acn18 CANCELLED AT 2026-09-15T19:27:18 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n", 143),
    LogCase("cancelled by somebody", "cancelled", "»slurmstepd: error: *** JOB 5055846 ON acn18 CANCELLED AT 2026-09-15T19:27:18 ***\n", 143),
    LogCase("step cancelled", "cancelled", "»slurmstepd: error: *** STEP 5055846.0 ON acn18 CANCELLED AT 2026-09-15T19:27:18 ***\n"),
    LogCase("launcher gave up waiting", "timeout", "»subprocess.TimeoutExpired: Command '['python', 'train.py']' timed out after 1500 seconds\n"),
    LogCase("engine did not answer", "timeout", "»TimeoutError: Timed out waiting for engine core processes to start\n"),
    LogCase("interrupted", "cancelled", "»KeyboardInterrupt\n", 130),
    LogCase("container reports the status of a kill", "killed_unknown_cause", "»command terminated with exit code 137\n"),
    LogCase("vLLM's executor", "vllm_executor_failure", "»RuntimeError: Executor failed.\n"),
    LogCase("Ray's worker crashed", "vllm_executor_failure", "»ray.exceptions.WorkerCrashedError: see the worker's log\n"),
    LogCase("Ray's unhandled wrapper", "runtime", "»(main_task pid=41) Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): ray::WorkerDict.update() (pid=88)\n"),
    LogCase("srun sums up", "runtime", "»srun: error: acn18: task 0: Exited with exit code 1\n"),
    LogCase("launcher sums up", "runtime", "»subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.\n"),
    LogCase("loader's workers are gone", "runtime", "»RuntimeError: DataLoader worker (pid(s) 91801, 91802) exited unexpectedly\n"),
    # ---- words that are no error --------------------------------------------------------------------------
    LogCase("advice in the error's words", "missing_evidence", """\
Tip: if you see torch.OutOfMemoryError: CUDA out of memory. Tried to allocate …, lower actor_micro_batch
Try increasing gpu_memory_utilization. Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to save memory
»Large batches may lead to RuntimeError: CUDA out of memory. Tried to allocate more than there is.
"""),
    LogCase("preempted request of the engine", "missing_evidence", """\
»WARNING 09-15 15:55:01 scheduler.py:1057] Sequence group 12 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end performance. Increase gpu_memory_utilization or tensor_parallel_size to provide more KV cache memory.
"""),
    LogCase("comment and documentation", "missing_evidence", """\
# RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
»For `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate` see the manual
"""),
    LogCase("source line of a handler", "missing_evidence", """\
    if "CUDA out of memory. Tried to allocate" in str(error):
»    except torch.cuda.OutOfMemoryError:
"""),
    LogCase("a model's own answer", "missing_evidence", """\
[prompt] Why does my script print RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB?
»[response] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate means that the batch is too large.
"""),
    LogCase("memory is mentioned", "missing_evidence", """\
(WorkerDict pid=88) After offload: memory allocated (GB): 12.1, memory reserved (GB): 38.0, out of 39.4
memory memory memory
»slurmstepd: error: Exceeded step memory limit at some point.
"""),
    # ---- shapes of public reports: the device's memory ----------------------------------------------------
    LogCase("NCCL's last error, quoted by PyTorch without its warning", "cuda_library_allocation", """\
(TaskRunner pid=7) step:4 - actor/kl:0.1 - training/global_step:4
(MegatronActor pid=21) Traceback (most recent call last):
(MegatronActor pid=21) torch.distributed.DistBackendError: NCCL error in: /build/NCCLUtils.cpp:77, unhandled cuda error, NCCL version 2.27.3
(MegatronActor pid=21) ncclUnhandledCudaError: Call to CUDA function failed.
(MegatronActor pid=21) Last error:
»(MegatronActor pid=21) Failed to CUDA calloc async 1024 bytes
"""),
    LogCase("NCCL's last error behind the launcher's host name", "cuda_library_allocation", """\
node-3: ncclInternalError: Internal check failed.
node-3: Last error:
»node-3: Failed to CUDA malloc 8388608 bytes
"""),
    LogCase("NCCL's failure in double quotes", "cuda_library_allocation", """\
»acn18:77:91 [2] transport/nvls.cc:254 NCCL WARN Cuda failure 2 "out of memory"
"""),
    LogCase("NCCL's page-locked buffer as last error", "host_memory", """\
ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.
Last error:
»Failed to CUDA host alloc 2097152 bytes
"""),
    LogCase("memory saver, status as a number", "cuda_oom", """\
(SGLangEngine pid=51) Cache flushed
»(SGLangEngine pid=51) [torch_memory_saver.cpp] CUresult error  result=2 file=csrc/torch_memory_saver.cpp func=cu_mem_create line=97
(SGLangEngine pid=51) Child process unexpectedly failed with an exit code 256. pid=52
Exception: Server process terminated unexpectedly.
"""),
    LogCase("memory saver, status in words, repeated by Ray", "cuda_oom", """\
»(SGLangHttpServer pid=25) [torch_memory_saver.cpp] CUresult error: 2 (out of memory)  file=csrc/utils.h func=cu_mem_create line=190
(WorkerDict pid=20) WARNING:2026-11-28 16:00:45,396:Async request to resume_memory_occupation timed out (attempt 1)
(SGLangHttpServer pid=26) [torch_memory_saver.cpp] CUresult error: 2 (out of memory)  file=csrc/utils.h func=cu_mem_create line=190 [repeated 7x across cluster]
"""),
    LogCase("memory saver, the note and then the failure itself", "cuda_oom", """\
[torch_memory_saver.cpp] cuMemCreate CUDA_ERROR_OUT_OF_MEMORY (may not be an issue e.g. torch allocator will free cache and retry)
»[torch_memory_saver.cpp] cudaError error: 2 (out of memory)  file=csrc/core.cpp func=resume line=170
"""),
    LogCase("memory saver, its copy on the host", "host_memory", """\
»[torch_memory_saver.cpp] cudaError error: 2 (out of memory)  file=csrc/core.cpp func=pause line=121
"""),
    LogCase("memory saver, another status", "missing_evidence", """\
»[torch_memory_saver.cpp] CUresult error  result=1 file=csrc/torch_memory_saver.cpp func=resume line=206
"""),
    LogCase("a wrapper prints the driver's status", "cuda_oom", """\
»RuntimeError: cuMemCreate failed with error 2 while growing the pool
"""),
    LogCase("batch size search, Accelerate, every size failed", "cuda_oom", """\
Decreasing batch size to: 2.
Traceback (most recent call last):
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB
Decreasing batch size to: 1.
Traceback (most recent call last):
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 39.39 GiB
Decreasing batch size to: 0.
RuntimeError: No executable batch size found, reached zero.
"""),
    LogCase("batch size search, failures of something else", "runtime", """\
»RuntimeError: No executable batch size found, reached zero.
"""),
    LogCase("batch size search at its smallest", "cuda_oom", """\
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 39.39 GiB
Decreasing batch size to: 1.
Already at the minimum batch size, giving up
"""),
    LogCase("TPU, compiler", "cuda_oom", """\
»jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 40.10G of 30.75G hbm. Exceeded hbm capacity by 9.35G.

Total hbm usage >= 41.35G:
"""),
    LogCase("TPU, compiler through TensorFlow", "cuda_oom", """\
ERROR:tensorflow:Error recorded from training_loop: From /job:worker/replica:0/task:0:
»Compilation failure: Ran out of memory in memory space hbm. Used 12.10G of 8.00G hbm. Exceeded hbm capacity by 4.10G.
"""),
    LogCase("TPU, runtime finds no room for a buffer", "cuda_oom", """\
»RuntimeError: Resource exhausted: Attempting to reserve 3.20G at the bottom of memory. That was not possible. There are 1.90G free, 0B reserved, and 1.90G reservable.
"""),
    LogCase("TPU, on-chip scratch memory is not the device's", "runtime", """\
»RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space vmem. Used 30.10M of 16.00M vmem.
"""),
    LogCase("TensorFlow, a tensor on a device", "cuda_oom", """\
2026-09-15 15:55:01.123456: W tensorflow/core/common_runtime/bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)
»tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[64,1024,8192] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:MatMul]
"""),
    LogCase("TensorFlow, a tensor on the processor", "host_memory", """\
»ResourceExhaustedError: OOM when allocating tensor with shape[640000,8192] and type double on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu [Op:AddV2]
"""),
    LogCase("TensorFlow, an allocation that it did without", "runtime", """\
W tensorflow/core/common_runtime/bfc_allocator.cc:314] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.30GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.
»ValueError: logits and labels must have the same shape
"""),
    LogCase("TensorFlow, only its allocator says so", "cuda_oom", """\
»W tensorflow/core/common_runtime/bfc_allocator.cc:497] Allocator (GPU_1_bfc) ran out of memory trying to allocate 1.00GiB (rounded to 1073741824)
"""),
    LogCase("one rank fails, another lowers its loss scale", "cuda_oom", """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "/opt/run/finetune.py", line 88, in training_step
»[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 900.00 MiB. GPU 1 has a total capacity of 79.15 GiB of which 500.25 MiB is free.
[2026-09-11 17:52:18,030] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768
[2026-09-11 17:52:20,755] [ERROR] [launch.py:321:sigkill_handler] ['/opt/bin/python', '-u', 'finetune.py', '--local_rank=1'] exits with return code = 1
"""),
    LogCase("gradients overflow behind an exhaustion, no ranks named", "cuda_oom", """\
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 900.00 MiB. GPU 0 has a total capacity of 79.15 GiB
Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0
grad_norm is nan, skipping step
"""),
    LogCase("the exhaustion that is handled is another rank's", "cuda_oom", """\
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 900.00 MiB. GPU 1 has a total capacity of 79.15 GiB
Rank 0: OOM caught, retrying with a smaller micro batch
"""),
    LogCase("the exhaustion that is handled is another allocation", "cuda_oom", """\
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 900.00 MiB. GPU 0 has a total capacity of 79.15 GiB
recovered from out of memory (tried to allocate 20.00 MiB)
"""),
    # ---- shapes of public reports: allocators that are not sure, faults, evictions --------------------------
    LogCase("an allocator's note, then a software error", "runtime", """\
(TrainActor pid=40) [torch_memory_saver.cpp] cuMemCreate CUDA_ERROR_OUT_OF_MEMORY (may not be an issue e.g. torch allocator will free cache and retry)
(TrainActor pid=40) [2026-07-27 09:10:02] actor.py:310 - train_actor finished
(Manager pid=41) Traceback (most recent call last):
»(Manager pid=41) IndexError: list index out of range
"""),
    LogCase("an allocator's note alone", "missing_evidence", """\
cudaMalloc failed: out of memory, this is not an error: the pool will release its cache and retry
»bye
"""),
    LogCase("an allocator's note on a line of its own", "missing_evidence", """\
cudaMallocAsync failed: out of memory
»This may not be an error: the caller frees its cache and asks again.
"""),
    LogCase("NVLink through PyTorch", "device_fault", """\
»RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution
"""),
    LogCase("NVLink through C++", "device_fault", """\
terminate called after throwing an instance of 'c10::Error'
»  what():  CUDA error: uncorrectable NVLink error detected during the execution
""", 134),
    LogCase("peer memory over NVLink", "device_fault", """\
»torch.AcceleratorError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error
"""),
    LogCase("fabric manager", "device_fault", """\
»nv-fabricmanager: detected NVLink fatal error on GPU 3 port 11, node 0
"""),
    LogCase("Xid, and then whatever the program says", "device_fault", """\
»[ 8812.1] NVRM: Xid (PCI:0000:4e:00): 74, pid=4242, name=python, NVLink: fatal error detected on link 6
RuntimeError: NCCL communicator was aborted
ValueError: checkpoint is incomplete
"""),
    LogCase("Xid of a clean-up", "device_fault", """\
»kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=18, name=python3, Ch 00000001
"""),
    LogCase("device handle lost", "device_fault", """\
»Unable to determine the device handle for GPU0000:03:00.0: Unknown Error
"""),
    LogCase("ROCm page fault", "device_fault", """\
»Memory access fault by GPU node-4 (Agent handle: 0x152e220) on address 0x7f. Reason: Page not present or supervisor privilege.
""", 134),
    LogCase("pod evicted for the node's memory", "evicted", """\
Status:         Failed
»Reason:         Evicted
Message:        The node was low on resource: memory. Threshold quantity: 100Mi, available: 88Mi.
""", 137),
    LogCase("pod evicted for the node's disk, as an event", "evicted", """\
»4m  Warning  Evicted  pod/grpo-c2-worker-0  The node had condition: [DiskPressure].
""", 137),
    LogCase("pod preempted by another", "preempted", """\
»2m  Normal  Preempted  pod/grpo-c2-worker-0  Preempted by pod 8f6e on node gpu-07
""", 143),
    LogCase("the cloud takes a machine back", "preempted", """\
»agent: Spot instance interruption notice received, terminating in 120 seconds
""", 143),
    LogCase("requeued by somebody", "cancelled", """\
»slurmstepd: error: *** JOB 5055846 ON acn18 CANCELLED AT 2026-09-15T19:27:18 DUE TO JOB REQUEUE ***
""", 143),
    # ---- shapes of public reports: what a model answered ---------------------------------------------------
    LogCase("an answer over several lines", "timeout", """\
(TaskRunner pid=31) [prompt] user
(TaskRunner pid=31) Explain this crash.
(TaskRunner pid=31) [response] It ends so:
(TaskRunner pid=31) Traceback (most recent call last):
(TaskRunner pid=31)   File "run.py", line 3, in <module>
(TaskRunner pid=31) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.78 GiB
(TaskRunner pid=31) Use a smaller batch.
(TaskRunner pid=31) [ground_truth] 4
(TaskRunner pid=31) [score] 1.0
»[rank3]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15) ran for 600004 milliseconds before timing out.
"""),
    LogCase("an answer that quotes a stamped log", "runtime", """\
(TaskRunner pid=31) [response] The log says:
(TaskRunner pid=31) 2026-09-15 15:55:01,204 ERROR: starting
(TaskRunner pid=31) RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
(TaskRunner pid=31) slurmstepd: error: Detected 1 oom_kill event in StepId=5.batch.
(TaskRunner pid=31) [ground_truth] 4
(TaskRunner pid=31) [score] 0.0
»(TaskRunner pid=31) KeyError: 'reward'
"""),
    LogCase("an answer whose later lines lost their writer", "missing_evidence", """\
(TaskRunner pid=31) [response] Look:
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.78 GiB
»(TaskRunner pid=31) [score] 0.0
"""),
    LogCase("an answer without a closing label", "runtime", """\
-------------------- Question:
Why?
Answer:
4
Response:
RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
  3%|▎         | 3/100 [00:12<05:11,  3.21s/it]
»ValueError: too many values to unpack
"""),
    LogCase("behind a sample the program's own failure counts", "cuda_oom", """\
[response] RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
and so on
[score] 0.0
Traceback (most recent call last):
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 39.39 GiB
"""),
    LogCase("another writer fails while a sample is printed", "cuda_oom", """\
(TaskRunner pid=31) [response] first line
»(WorkerDict pid=88) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 39.39 GiB
(TaskRunner pid=31) second line
(TaskRunner pid=31) [score] 0.0
"""),
    LogCase("answers in a list on one line", "runtime", """\
(RolloutManager pid=21) [2026-07-27 09:10:02] rollout.py:88 - First rollout sample: ['<|im_start|>user Why? It prints RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB', 'It is full'], label: 4, reward: 1
responses: ["fine", "Traceback: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity"]
{'prompt': 'Why?', 'completion': 'see RuntimeError: CUDA error: out of memory, it says'}
Sample(index=3, prompt='x', response='it said CUDA out of memory. Tried to allocate 2.00 GiB')
»KeyError: 'ground_truth'
"""),
    LogCase("answers in a table of boxes", "missing_evidence", """\
│ Why? │ RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB │ 0.00 │
»bye
"""),
    LogCase("answers inside a chat template", "missing_evidence", """\
<|im_start|>assistant
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.78 GiB
»and that is why<|im_end|>
"""),
    LogCase("quoted code", "missing_evidence", """\
The usual output:
```
RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
»```
"""),
    LogCase("an interrupted answer goes on with a bare error", "missing_evidence", """\
Response: It fails so:
wandb: Syncing run grpo_c2_s151
RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
»and that is all
"""),
    LogCase("quoted code interrupted twice, then the program's own failure", "cuda_oom", """\
```
wandb: Syncing run grpo_c2_s151
Traceback (most recent call last):
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.78 GiB
```
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 39.39 GiB
"""),
    LogCase("a traceback behind an answer that nothing closes", "cuda_oom", """\
Response: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
  3%|▎         | 3/100 [00:12<05:11,  3.21s/it]
Traceback (most recent call last):
  File "/opt/train/main.py", line 210, in <module>
    main()
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 39.39 GiB
"""),
    LogCase("the driver's traceback while a worker prints", "cuda_oom", """\
(TaskRunner pid=31) [response] first line
(WorkerDict pid=88) kwargs: {'n': 5, 'logprobs': 0, 'max_tokens': 1024}
Traceback (most recent call last):
  File "/opt/train/main.py", line 210, in <module>
»torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 39.39 GiB
"""),
    LogCase("a structured log is no sample", "cuda_oom", """\
»{"level": "error", "msg": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 39.39 GiB"}
"""),
    LogCase("a list of errors is no sample", "cuda_oom", """\
»errors: ['CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 39.39 GiB']
"""),
)  # fmt: skip
