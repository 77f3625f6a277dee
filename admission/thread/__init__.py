"""Reading an exported issue thread: pure functions from text to plain values. No Django.

``reading``     the exported files: one JSON value, several concatenated ones, or one a line
``export``      what an issue and its events say, whatever project they come from
``statuses``    dated status statements inside a body
``signatures``  who signed a comment
``mentions``    hashes, pull requests, receipts and sizes named in a text, with their sentences
"""
