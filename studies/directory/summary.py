"""What a checked folder would record, in lines for a person."""

from __future__ import annotations

from studies.directory.reading import StudyDirectory


def summary(directory: StudyDirectory) -> list[str]:
    """What would be recorded, one line each."""
    seconds = directory.most_gpu_seconds
    fitting = directory.rules.fitting
    sources = len(fitting.source_configuration_ids) if fitting else 0
    hours = "unknown: slots have no time-out" if seconds is None else f"{seconds / 3600:,.2f} GPU-hours"
    lines = [
        f"study {directory.study.slug}: {directory.study.title}",
        f"configurations: {len(directory.rows)}, seeds: {len(directory.rules.evaluation_seeds)}, "
        f"slots: {len(directory.slots)}, pairs: {directory.rules.planned_pairs}",
        f"most that the plan can cost: {hours}",
        f"fitted on: {sources} configurations of pool {directory.study.pool}",
    ]
    for model in directory.models:
        source = (
            "checkpoint headers"
            if model.files.from_headers
            else f"the {model.files.config.model_type} layout"
        )
        elements = model.files.counts.floating_checkpoint_elements
        lines.append(f"model {model.model_id}: {elements:,} parameters, from {source}")
        lines += [f"  note: {remark}" for remark in model.files.remarks]
    return lines
