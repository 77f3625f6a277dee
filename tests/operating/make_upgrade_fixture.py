"""Keeps a small site of the present version, so that each later version can show that it migrates it.

Run once for a release, in a clean checkout: ``python -m tests.operating.make_upgrade_fixture``. It writes
``tests/operating/upgrades/VERSION/`` and refuses if that is there: a kept site is never made anew.
"""

from __future__ import annotations

import lzma
import os
import sys
import tempfile
from pathlib import Path

UPGRADES = Path(__file__).parent / "upgrades"
STUDY = "host-capacity"
"""The bundled study whose bundle is kept; the one in the database is smaller."""


def main() -> None:
    from host.version import product_version

    target = UPGRADES / product_version()
    if target.exists():
        sys.exit(f"{target} is there already; a kept site is never made anew")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(DATA_DIR=folder, DJANGO_SETTINGS_MODULE="rlvram_site.settings")
        for name in ("DATABASE_URL", "BROKER_URL", "RLVRAM_MODE"):
            os.environ.pop(name, None)
        import django

        django.setup()
        keep(target)


def keep(target: Path) -> None:
    """Fill the database, then back it up as rows and as SQLite's own file, and export its bundles."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    fill()
    call_command("backup", target / "backup", form="rows")
    call_command("backup", target / "backup", form="sqlite")
    (target / "backup" / ".lock").unlink()
    call_command("load_samples", verbosity=0)
    call_command("export_study", STUDY, output=target / "study.json")
    call_command("export_record", "OpenPipe/ART#848", output=target / "issue.json")
    for file in [*target.glob("backup/*/database.sqlite3"), *target.glob("*.json")]:
        file.with_name(file.name + ".xz").write_bytes(lzma.compress(file.read_bytes()))
        file.unlink()


def fill() -> None:
    """A login, a key, a tracked issue, a study with evidence and a job."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from rlvram_site.api.keys import issue_key
    from rlvram_site.ledger.chain import acting
    from studies.jobs import claims
    from tests.databases import ISSUE
    from tests.factories import make_blob, make_small_study

    call_command("import_record", str(ISSUE))
    with acting("keeper"):
        owner = get_user_model().objects.create_user("keeper", password=None, is_staff=True)
        issue_key(name="a host", owner=owner, scopes=["read"])
        study = make_small_study(slug="kept")
        make_blob(study, b"torch.OutOfMemoryError: CUDA out of memory\n")
        claims.queue("verify", "default", study, {}, hand_over=False)


if __name__ == "__main__":
    main()
