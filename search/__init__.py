"""Search over everything that is recorded, from every page.

``documents`` says what a record is found by (each app describes its own records in its ``searching`` module),
``indexing`` follows the ledger and keeps one row for each of them, ``finding`` looks them up in the database.
Nothing here is a record: ``manage.py rebuild_search`` makes the rows anew from the ledger.
"""
