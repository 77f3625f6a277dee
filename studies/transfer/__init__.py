"""The transfer suite as pure functions: what one donor case tells about other configurations.

``suite``       tracks, tasks, queries and the rules between them
``inputs``      what a predictor is given, task by task, without any outcome of a target
``submission``  predictions from outside: read them, and name every rule they break
``scoring``     scores by task, by track and in total
``predictors``  the reference and the methods of the registry, task by task

No Django, no I/O. ``docs/transfer.md`` tells the whole story.
"""
