"""What gunicorn does for the measurements; its settings are in ``rlvram_site.server.settings``.

Several processes answer requests; each writes its counts into one folder, and the asked one adds them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

# Before anything imports prometheus_client, which looks at it once. After a reload the folder is there.
if _FOLDER not in os.environ and (os.environ.get("METRICS_TOKEN") or os.environ.get("METRICS_NETWORKS")):
    os.environ[_FOLDER] = tempfile.mkdtemp(prefix="rlvram-metrics-")
    os.environ["RLVRAM_METRICS_OURS"] = str(os.getpid())


def child_exit(server: Any, worker: Any) -> None:
    """What a process counted stays; what it only held at the moment goes."""
    if _FOLDER in os.environ:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid)


def on_exit(server: Any) -> None:
    """Leave nothing behind."""
    if os.environ.get("RLVRAM_METRICS_OURS") == str(os.getpid()):
        shutil.rmtree(os.environ[_FOLDER], ignore_errors=True)
