"""How the site is served: gunicorn's settings, and its worker with a limit on waiting."""
