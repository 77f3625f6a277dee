"""The present state of studies as rows: made with the functions that decide, kept in step with the ledger.

``deriving``   what the rows of some configurations are, from the ledger
``following``  keeps them in step, inside the transaction of the record that changes them
``tallies``    the counts over a study's configurations and cells
``rebuilding`` makes all of a study's anew, and compares what stands with what the ledger gives
"""
