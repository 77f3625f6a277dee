"""A model's numbers from the files that describe it: its `config.json` and the headers of its weights.

No weight is read and nothing is downloaded. `architecture.read_model` reads a folder; `config`, `layouts`,
`headers` and `counts` are its steps.
"""
