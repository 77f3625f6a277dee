"""Jobs: what they are (``kinds``), who holds them (``claims``), how one is run (``running``).

Three rules make a job end exactly once. Its row changes only where the change names the state and the fence
that it expects. What it records is written in the transaction that ends it. And a worker that has not been
heard of until the end of its lease loses the job, which is then queued again or failed with that reason.
"""
