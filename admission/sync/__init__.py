"""Following issues on a forge through GitHub's REST API. Only reads: nothing is ever written back.

``addresses``  what a pasted address names (pure)
``errors``     why something could not be read, in words for a person
``forge``      one request: limits, retries, time and size bounds
``answers``    whole lists, page by page, asked conditionally and kept so that a cut loses nothing
``pulls``      what a pull request, its checks and reviews say (pure)
``fetching``   an issue with its timeline and linked pull requests
``recording``  writing what arrived through the importer and as heads and reviews
``following``  what is followed, what is due, and one sync of it
``hooks``      the forge's webhook, which only makes a sync due
"""
