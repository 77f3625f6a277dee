"""The estimation study as pure functions: labels, volumes, methods, folds, scores and costs.

Nothing in this package imports Django, reads a file or writes one. Import the modules directly; this
file stays empty of imports so that the refit worker starts fast and without the site around it.
"""
