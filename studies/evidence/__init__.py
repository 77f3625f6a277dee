"""From what an invocation left behind to its outcome: pure functions on the standard library.

Nothing here imports Django, and only `files` touches the disk, so the package works on a GPU host that has
nothing but Python. Import the modules directly:

- `outcome.derive_outcome` is the rule: completed, memory failure or unresolved, and the line that says so;
- `files.read_run_directory` and `files.read_log` read what it needs from the disk, `collect.collect_run`
  from an upload;
- `rules` is the table of texts, `diagnoses` the words for them.
"""
