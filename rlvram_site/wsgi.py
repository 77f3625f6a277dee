"""What a WSGI server serves."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rlvram_site.settings")

application = get_wsgi_application()

from rlvram_site.ledger.startup import before_serving  # noqa: E402 - needs the apps

before_serving()
