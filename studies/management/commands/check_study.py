"""Say everything that is wrong with a study's folder, and change nothing."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from studies.directory.reading import StudyDirectory
from studies.services.plan import creating


class Command(BaseCommand):
    help = (
        "Reads a study's folder (study.yaml, protocol.yaml, configurations.csv, models/, pool.csv) and lists "
        "every problem with file, line and value. Changes nothing."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("folder", type=Path, help="the folder; `new_study` writes an example")

    def handle(self, *args, **options) -> None:
        directory, problems = creating.check(options["folder"])
        if directory is None:
            for problem in problems:
                self.stdout.write(str(problem))
            number = len(problems)
            raise CommandError(f"{number} problem{'' if number == 1 else 's'}; nothing was changed")
        self.stdout.write(summary(directory))


def summary(directory: StudyDirectory) -> str:
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
    return "\n".join(lines)
