"""The site's command line: ``manage.py`` in a checkout, ``rlvram-dashboard`` where it is installed."""

from __future__ import annotations

import os
import sys

import django

from host.terminal import guard_terminal
from host.version import product_version


def main() -> None:
    """Run the command that the arguments name."""
    guard_terminal()
    os.environ.setdefault("DJANGO_COLORS", "nocolor")  # colours are sequences, too
    if sys.argv[1:] in (["--version"], ["version"]):
        print(f"RL VRAM studies {product_version()}, Django {django.get_version()}")
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rlvram_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
