"""What runs on a GPU host: planned slots, one after the other, watched from outside and uploaded.

Nothing here imports Django or opens the site's database; a host talks to the site through its API.
"""
