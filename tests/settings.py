"""The site's own settings, on a throw-away data folder and with the slow safety parts made quick."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# What the caller's shell sets must not decide a test; only the engine is theirs to choose.
for _name in (
    "ALLOWED_HOSTS", "BEHIND_PROXY", "BROKER_URL", "CSRF_TRUSTED_ORIGINS", "DEBUG", "HTTPS", "LOG_LEVEL",
    "PUBLIC_READ", "RLVRAM_MODE", "SECRET_KEY", "STATIC_ROOT", "FORGE_API_URL", "FORGE_TOKEN", "FORGE_HOST",
    "FORGE_SYNC_SECONDS", "FORGE_WEBHOOK_SECRET", "SITE_URL", "EMAIL_URL", "EMAIL_FROM",
    "DISK_RESERVE_MIB", "EVIDENCE_STORAGE_URL",
    "NOTICES_DIGEST_HOUR", "WEBHOOK_ALLOWED_NETWORKS", "METRICS_TOKEN", "METRICS_NETWORKS", "LOG_FORMAT",
    "LOG_REQUESTS",
    "OIDC_ISSUER", "OIDC_ROLES", "SECRET_KEY_FALLBACKS",
    "STAFF_TWO_STEP", "TRUSTED_PROXIES",
    "CACHE_URL", "REMEMBER_PAGES",
    "TIMESTAMP_URL", "TIMESTAMP_CHAIN", "SIGNING_KEY", "SIGNING_KEY_FILE",
):  # fmt: skip
    os.environ.pop(_name, None)

_data = tempfile.mkdtemp(prefix="rlvram-test-")
atexit.register(shutil.rmtree, _data, ignore_errors=True)
os.environ["DATA_DIR"] = _data

from rlvram_site.settings import *  # noqa: E402, F403
from rlvram_site.settings import DATA_DIR, DATABASES, STORAGES  # noqa: E402

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, as in real use: an in-memory database knows neither WAL nor a second process.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}

# Names without a content hash, so that pages render without collectstatic.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
# A test may change what no record says; the tests of remembered pages turn this on.
REMEMBER_PAGES = False
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

Path(STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # noqa: F405 - whitenoise warns about a missing folder
