#!/usr/bin/env python
"""Command-line entry of the site."""

from rlvram_site.command import main

if __name__ == "__main__":
    main()
