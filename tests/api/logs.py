"""Short logs as the study's trainer prints them."""

COMPLETED = "Total training steps: 1\nstep:1 - actor/pg_loss:0.1 - training/global_step:1\n"
OUT_OF_MEMORY = (
    "Total training steps: 1\n"
    "Traceback (most recent call last):\n"
    '  File "/app/trainer.py", line 10, in train_step\n'
    "    loss.backward()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
    "44.40 GiB of which 1.10 GiB is free.\n"
)
SAMPLES = "1700000000000000000,1000,900\n1700000000100000000,38000,37000\n1700000000200000000,2000,1900\n"
