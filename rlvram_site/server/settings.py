"""gunicorn's settings: ``--config python:rlvram_site.server.settings``. Where it listens is the caller's."""

from __future__ import annotations

# The measurements add up over processes; gunicorn looks for these two by their names.
from operating.serving import child_exit, on_exit  # noqa: F401

wsgi_app = "rlvram_site.wsgi"
worker_class = "rlvram_site.server.worker.PatientWorker"
workers = 2
threads = 8
worker_connections = 400
timeout = 120  # s: a worker that does not report for so long is replaced
graceful_timeout = 30  # s
# A connection answers one request. One that stays open and idle would cost a proxy nothing to make anew.
keepalive = 0
loglevel = "warning"
control_socket_disable = True
# Who a proxy is decides rlvram_site.client_address, for all headers alike.
forwarded_allow_ips = ""
