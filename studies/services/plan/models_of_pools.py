"""Adding a model to a pool that is recorded already, so that studies may plan with it."""

from __future__ import annotations

from studies.checkpoints.architecture import model_from_config
from studies.estimation.volumes import Architecture
from studies.models import ModelArchitecture, Pool
from studies.services.adding import add_or_find


def add_architecture(
    pool: Pool, content: bytes, *, model_id: str, family: str, revision: str, lora_rank: int
) -> tuple[ModelArchitecture, bool]:
    """Record a model from the bytes of its ``config.json``, and whether it is new.

    Raises ``EstimationError`` for a file that can't be read or a layout that is not known, and
    ``UploadConflict`` if the pool has the model with other numbers.
    """
    record = model_from_config(content, lora_rank=lora_rank).to_record()
    record |= {"model_id": model_id, "family": family, "revision": revision, "lora_rank": lora_rank}
    Architecture.from_metadata(record)
    wanted = [ModelArchitecture(pool=pool, **record)]
    [found] = add_or_find(pool.stream, wanted, "model_id", ModelArchitecture.objects.filter(pool=pool))
    return found
