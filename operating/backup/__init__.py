"""Backups of the whole site, and bringing one back.

A folder of backups holds one folder for each backup (database, heads, manifest) and ``evidence/``, which they
share: evidence never changes, so each file is copied once.
"""
