"""A study as a folder of files: `study.yaml`, `protocol.yaml`, `configurations.csv`, models, a pool.

`reading.read_directory` reads all of it and collects every problem; nothing here knows the database.
"""
