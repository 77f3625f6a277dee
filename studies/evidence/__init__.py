"""From what an invocation left behind to its outcome: pure functions on the standard library and RE2.

Nothing here imports Django, and only `files` touches the disk, so the package works where there is no site.
Import the modules directly:

- `outcome.derive_outcome` is the rule: completed, memory failure or unresolved, and the line that says so;
- `files.read_run_directory` and `files.read_log` read what it needs from the disk, `collect.collect_run`
  from an upload;
- `rules` is the table of texts, `diagnoses` the words for them, `quotations` what is
  printed without being said;
- `patterns` is the one place where a pattern is compiled, `unpacking` and `documents` hold the limits.
"""
