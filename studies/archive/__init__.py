"""Study archives and bundles on disk on one side, recorded rows on the other.

``tables``, ``documents``   strict reading of CSV and JSON
``columns``                 which columns each table has
``hashes``                  every hash that a document of the archive names
``records``                 one spelling of every recorded row, which archives, bundles and the ledger share
``layout``, ``pools``, ``plans``, ``predictions``, ``results``, ``history``  the archive, read into records
``loading``                 records into the database, all or nothing, and what differs from what is there
``bundle``                  our own file format
``verification``            the archive checked against itself, without its prospective outcomes
"""
