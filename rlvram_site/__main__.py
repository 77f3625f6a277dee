"""``python -m rlvram_site`` is ``rlvram-dashboard``."""

from rlvram_site.command import main

main()
