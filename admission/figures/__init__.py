"""Plotly figures from derived values. They know nothing of requests or tables.

``witnesses``  prediction, usable memory and what was measured, decision by decision
``timeline``   everything about an issue on one line of time
``replay``     what policies would have required
"""
