"""The texts that decide, in one table: what programs print, what it means, and how much it weighs.

A rule holds a pattern, the diagnosis it stands for, and its role. Order matters only within one line: the
first rule that matches a line speaks for it, so special forms stand above general ones. Patterns are looked
for in a line without colour codes and without the prefixes of Ray, torchrun, srun and loggers. One of the
`keys` stands in every match, in lower case; they are tested first because that is much cheaper.

No pattern is satisfied by a word such as "memory" alone: each names the program's own sentence, error class
or status code.
"""

from __future__ import annotations

from studies.evidence import texts_memory, texts_other
from studies.evidence.rule import Rule

RULES: tuple[Rule, ...] = (
    *texts_memory.NOT_CAUSES,
    *texts_memory.GENERATION_START,
    *texts_memory.CUDA_LIBRARIES,
    *texts_memory.HOST_ALLOCATIONS,
    *texts_memory.HOST_KILLS,
    *texts_memory.DEVICE_MEMORY,
    *texts_other.DEVICE_FAULTS,
    *texts_other.SYSTEM,
    *texts_other.RESOURCES,
    *texts_other.CONFIGURATION,
    *texts_other.LIMITS,
    *texts_other.KILLS,
    *texts_other.CONSEQUENCES,
    *texts_other.EXCEPTIONS,
)
