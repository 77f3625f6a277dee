"""Settings, read from the environment. A value that is not understood stops the start with its name.

Embedded (the default): SQLite in WAL mode and a broker on the local disk, both under ``DATA_DIR``.
Production: set ``DATABASE_URL`` and ``BROKER_URL`` (PostgreSQL and Redis); nothing else changes.
"""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from environs import Env, EnvError, validate

from host.version import product_version
from rlvram_site.client_address import LOCAL_NETWORKS, networks
from rlvram_site.secret_file import refuse_weak_keys

BASE_DIR = Path(__file__).resolve().parent.parent
# A checkout has templates, style sheets and scripts beside the packages; an installed site has them inside.
CHECKOUT = (BASE_DIR / "manage.py").is_file()
FILES_DIR = BASE_DIR if CHECKOUT else Path(__file__).resolve().parent / "files"

env = Env()


def _read(reader, name, **kwargs):
    """One variable through its environs reader; errors name the variable and what was expected."""
    try:
        return reader(name, **kwargs)
    except EnvError as error:
        raise ImproperlyConfigured(f"Environment variable {name}: {error}") from error


MODE = _read(env.str, "RLVRAM_MODE", default="embedded", validate=validate.OneOf(["embedded", "production"]))
EMBEDDED = MODE == "embedded"
DEBUG = _read(env.bool, "DEBUG", default=False)
DATA_DIR = Path(
    _read(env.str, "DATA_DIR", default=str((BASE_DIR if CHECKOUT else Path.cwd()) / "var"))
).resolve()


def _secret_key() -> str:
    """``SECRET_KEY``; the embedded site makes one and keeps it under ``DATA_DIR``, readable by its owner."""
    value = _read(env.str, "SECRET_KEY", default="")
    if value:
        return value
    if not EMBEDDED:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set. Production needs a long random value, for example from: "
            "python -c 'import secrets; print(secrets.token_urlsafe(64))'"
        )
    from rlvram_site.secret_file import read_or_create

    return read_or_create(DATA_DIR / "secret-key")


SECRET_KEY = _secret_key()
# What was signed with these is still believed; see docs/install.md on changing the key.
SECRET_KEY_FALLBACKS = _read(env.list, "SECRET_KEY_FALLBACKS", default=[])
if not EMBEDDED:
    refuse_weak_keys(SECRET_KEY, SECRET_KEY_FALLBACKS)
    if DEBUG:
        raise ImproperlyConfigured("DEBUG is on. Production never shows the site's inside: unset it")

LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]
ALLOWED_HOSTS = _read(env.list, "ALLOWED_HOSTS", default=LOOPBACK if EMBEDDED else [])
if not EMBEDDED and not ALLOWED_HOSTS:
    raise ImproperlyConfigured(
        "ALLOWED_HOSTS is not set. Production needs the site's host names, comma separated."
    )
if not EMBEDDED and any("*" in _host for _host in ALLOWED_HOSTS):
    raise ImproperlyConfigured(
        "ALLOWED_HOSTS holds '*', so anybody's host name would be believed. Production needs the site's own, "
        "comma separated; .example.org means every name below it."
    )
CSRF_TRUSTED_ORIGINS = _read(env.list, "CSRF_TRUSTED_ORIGINS", default=[])
# Reading without a login is for the demo on one's own machine; elsewhere somebody must ask for it.
PUBLIC_READ = _read(env.bool, "PUBLIC_READ", default=EMBEDDED and set(ALLOWED_HOSTS) <= set(LOOPBACK))

if not EMBEDDED:
    for _name, _needed in (
        ("DATABASE_URL", "postgresql://USER:PASSWORD@HOST/NAME"),
        ("BROKER_URL", "redis://HOST:PORT/DB"),
    ):
        if not _read(env.str, _name, default=""):
            raise ImproperlyConfigured(f"{_name} is not set. Production needs it: {_needed}")


def _database() -> dict[str, Any]:
    """``DATABASE_URL`` as Django's settings; the embedded default is a file under ``DATA_DIR``."""
    url = _read(env.str, "DATABASE_URL", default="")
    if not url:
        database: dict[str, Any] = {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(DATA_DIR / "site.sqlite3"),
        }
    elif (scheme := urlsplit(url).scheme) in {"sqlite", "postgres", "postgresql"}:
        database = _read(env.dj_db_url, "DATABASE_URL")
    else:
        raise ImproperlyConfigured(
            f"DATABASE_URL starts with {scheme or 'nothing'!r}; "
            "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
        )
    if database["ENGINE"] == "django.db.backends.sqlite3":
        # The last connection that closes copies the write-ahead log back into the file. To do that after
        # every request would cost more than the request.
        database["CONN_MAX_AGE"] = 600
        ours: dict[str, Any] = {
            # IMMEDIATE takes the write lock when a transaction starts, so that two writers queue instead of
            # failing half-way with "database is locked".
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            # FULL: what was answered as recorded survives a power cut, too. Recursive triggers: a REPLACE
            # fires the DELETE triggers of recorded tables.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA recursive_triggers=ON;",
        }
    else:
        size = _read(env.int, "DATABASE_POOL_SIZE", default=8, validate=validate.Range(min=1, max=200))
        database["CONN_HEALTH_CHECKS"] = True  # after a restart of the server, no request meets a dead one
        ours = {"pool": {"min_size": 1, "max_size": size, "timeout": 10}}
    database["OPTIONS"] = database.get("OPTIONS", {}) | ours
    return database


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

BROKER_URL = _read(env.str, "BROKER_URL", default="filesystem://localhost")
if urlsplit(BROKER_URL).scheme not in {"filesystem", "redis", "rediss"}:
    raise ImproperlyConfigured(
        f"BROKER_URL starts with {urlsplit(BROKER_URL).scheme!r}; "
        "expected filesystem://localhost or redis://HOST:PORT/DB"
    )

# Where answers and counts of requests are remembered. All machines share them through Redis; without it the
# processes of one machine still count requests together.
_cache_url = _read(env.str, "CACHE_URL", default="")
if not _cache_url and not EMBEDDED and urlsplit(BROKER_URL).scheme != "filesystem":
    _cache_url = BROKER_URL
if not _cache_url:
    CACHES: dict[str, dict[str, Any]] = {
        "default": {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 500},
        },
        "rates": {
            "BACKEND": "rlvram_site.counts_file.CountsFile", "LOCATION": str(DATA_DIR / "rates.sqlite3"),
        },
    }  # fmt: skip
elif urlsplit(_cache_url).scheme in {"redis", "rediss"}:
    CACHES = {
        "default": {
            "BACKEND": "rlvram_site.shared_cache.SharedCache", "LOCATION": _cache_url,
            "KEY_PREFIX": "rlvram",
        }
    }  # fmt: skip
    CACHES["rates"] = CACHES["default"]
else:
    raise ImproperlyConfigured(
        f"CACHE_URL starts with {urlsplit(_cache_url).scheme!r}; expected redis://HOST:PORT/DB"
    )
# Pages of studies are kept until something is recorded; a developer who edits templates turns this off.
REMEMBER_PAGES = _read(env.bool, "REMEMBER_PAGES", default=not DEBUG)

_seconds = validate.Range(min=1)
# A worker that is not heard of for this long loses its job; it reports four times as often.
JOB_LEASE_SECONDS = _read(env.int, "JOB_LEASE_SECONDS", default=60, validate=_seconds)
JOB_TAKE_BACK_SECONDS = _read(env.int, "JOB_TAKE_BACK_SECONDS", default=20, validate=_seconds)
# A job that still waits after this long is handed to the broker again, in case the message was lost.
JOB_RESEND_SECONDS = _read(env.int, "JOB_RESEND_SECONDS", default=300, validate=_seconds)
JOB_MAX_CLAIMS = _read(env.int, "JOB_MAX_CLAIMS", default=3, validate=_seconds)
JOB_TIME_LIMIT_SECONDS = _read(env.int, "JOB_TIME_LIMIT_SECONDS", default=3000, validate=_seconds)
BROKER_VISIBILITY_SECONDS = _read(env.int, "BROKER_VISIBILITY_SECONDS", default=7200, validate=_seconds)
if BROKER_VISIBILITY_SECONDS <= JOB_TIME_LIMIT_SECONDS:
    raise ImproperlyConfigured(
        f"BROKER_VISIBILITY_SECONDS is {BROKER_VISIBILITY_SECONDS}; expected more than the "
        f"JOB_TIME_LIMIT_SECONDS of {JOB_TIME_LIMIT_SECONDS}, or the broker hands out jobs that still run"
    )
# The forge whose issues are followed. Only reads; the token needs no right to write.
FORGE_API_URL = _read(env.str, "FORGE_API_URL", default="https://api.github.com", validate=validate.URL(
    schemes={"http", "https"}, require_tld=False, error="expected an address such as https://HOST/api/v3"
)).rstrip("/")  # fmt: skip
# Only where people read the forge at another host than api.HOST or HOST.
FORGE_HOST = _read(env.str, "FORGE_HOST", default="").strip()
FORGE_TOKEN = _read(env.str, "FORGE_TOKEN", default="").strip()
# How often what is followed is read; 0 means only when somebody asks.
FORGE_SYNC_SECONDS = _read(env.int, "FORGE_SYNC_SECONDS", default=900, validate=validate.Range(min=0))
FORGE_TIMEOUT_SECONDS = _read(env.int, "FORGE_TIMEOUT_SECONDS", default=20, validate=_seconds)
FORGE_ANSWER_SECONDS = _read(env.int, "FORGE_ANSWER_SECONDS", default=120, validate=_seconds)
FORGE_WEBHOOK_SECRET = _read(env.str, "FORGE_WEBHOOK_SECRET", default="")
FORGE_WEBHOOK_MAX_BYTES = (
    _read(env.int, "FORGE_WEBHOOK_MAX_KIB", default=1024, validate=validate.Range(min=1, max=25 * 1024))
    * 1024
)
# Witnesses of the ledger: an authority that stamps (RFC 3161) with the certificates it is believed by, and
# the key with which this site signs.
TIMESTAMP_URL = _read(env.str, "TIMESTAMP_URL", default="").strip()
TIMESTAMP_CHAIN = _read(env.str, "TIMESTAMP_CHAIN", default="").strip()
TIMESTAMP_TIMEOUT_SECONDS = _read(env.int, "TIMESTAMP_TIMEOUT_SECONDS", default=20, validate=_seconds)
if TIMESTAMP_URL and (urlsplit(TIMESTAMP_URL).scheme not in {"http", "https"} or not TIMESTAMP_CHAIN):
    raise ImproperlyConfigured(
        "TIMESTAMP_URL: expected an address such as https://HOST/tsr, and in TIMESTAMP_CHAIN a file with the "
        "certificates (PEM) by which its stamps are believed"
    )
SIGNING_KEY = _read(env.str, "SIGNING_KEY", default="").strip()
SIGNING_KEY_FILE = _read(env.str, "SIGNING_KEY_FILE", default="").strip()
# Being told. Addresses in messages begin with SITE_URL, since a worker answers no request.
SITE_NAME = "RL VRAM studies"
_site_host = next((name for name in ALLOWED_HOSTS if not name.startswith((".", "*"))), "localhost")
SITE_URL = _read(
    env.str, "SITE_URL", default="http://127.0.0.1:8000" if EMBEDDED else f"https://{_site_host}",
    validate=validate.URL(
        schemes={"http", "https"}, require_tld=False, error="expected an address such as https://HOST"
    ),
).rstrip("/")  # fmt: skip
# Without EMAIL_URL the embedded site writes its mail into a folder; production sends none.
_mail_url = _read(env.str, "EMAIL_URL", default="")
EMAIL_SENDS = bool(_mail_url) or EMBEDDED
EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
EMAIL_FILE_PATH = DATA_DIR / "mail"
if _mail_url:
    if urlsplit(_mail_url).scheme not in {"smtp", "smtps", "smtp+tls", "smtp+ssl", "console", "file"}:
        raise ImproperlyConfigured(
            f"EMAIL_URL starts with {urlsplit(_mail_url).scheme!r}; expected "
            "smtp+tls://USER:PASSWORD@HOST:587, smtp+ssl://USER:PASSWORD@HOST:465 or smtp://HOST:25"
        )
    for _name, _value in _read(env.dj_email_url, "EMAIL_URL").items():
        if _name.startswith("EMAIL_") and _value is not None:
            globals()[_name] = _value
EMAIL_TIMEOUT = 20  # s
DEFAULT_FROM_EMAIL = _read(env.str, "EMAIL_FROM", default=f"{SITE_NAME} <noreply@{_site_host.strip('[]')}>")
NOTICES_DIGEST_HOUR = _read(env.int, "NOTICES_DIGEST_HOUR", default=7, validate=validate.Range(min=0, max=23))
WEBHOOK_ALLOWED_NETWORKS = _read(env.list, "WEBHOOK_ALLOWED_NETWORKS", default=[])
for _network in WEBHOOK_ALLOWED_NETWORKS:
    try:
        ip_network(_network)
    except ValueError as _error:
        raise ImproperlyConfigured(
            f"Environment variable WEBHOOK_ALLOWED_NETWORKS: {_error}; "
            "expected networks such as 10.1.0.0/16, comma separated"
        ) from _error
# Folder of the archives and bundles that people may import or verify from the page; a job names one inside.
ARCHIVES_DIR = Path(_read(env.str, "ARCHIVES_DIR", default=str(DATA_DIR / "archives"))).resolve()

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "axes",
    "csp",
    "django_filters",
    "django_tables2",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rlvram_site",
    "studies",
    "admission",
    "notices",
    "operating",
    "search",
]

MIDDLEWARE = [
    "rlvram_site.client_address.ClientAddressMiddleware",
    "operating.requests.RequestLogMiddleware",
    "rlvram_site.api.transport.ApiTransportMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "rlvram_site.logins.known_browsers.KnownBrowserMiddleware",
    "rlvram_site.private_pages.PrivatePagesMiddleware",
    "rlvram_site.read_access.ReadAccessMiddleware",
    "rlvram_site.logins.two_step.TwoStepMiddleware",
    "rlvram_site.ledger.middleware.ActorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
    "rlvram_site.remembered.RememberedPages",
    "rlvram_site.tables.pages.TablesOfPages",
    "studies.views.unreadable.UnreadableStudy",
]

ROOT_URLCONF = "rlvram_site.urls"
WSGI_APPLICATION = "rlvram_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["rlvram_site.templatetags.display"],
        },
    },
]
DJANGO_TABLES2_TEMPLATE = "tables/_table.html"

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# Two steps at the login: offered to everybody, and asked of staff if so set.
STAFF_TWO_STEP = _read(
    env.str, "STAFF_TWO_STEP", default="optional", validate=validate.OneOf(["optional", "required"])
)
ACCOUNT_ADAPTER = "rlvram_site.logins.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300  # s
ACCOUNT_SESSION_REMEMBER = False
MFA_TOTP_ISSUER = SITE_NAME
# One identity provider, if one is named. It says who somebody is, and by a claim which role she has.
SOCIALACCOUNT_ADAPTER = "rlvram_site.logins.adapters.IdentityAdapter"
SOCIALACCOUNT_LOGIN_ON_GET = True  # a form that leads to another host is what the content policy forbids
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = ""
OIDC_ID = "provider"
OIDC_ISSUER = _read(env.str, "OIDC_ISSUER", default="").rstrip("/")
OIDC_NAME = _read(env.str, "OIDC_NAME", default="the identity provider")
OIDC_CLIENT_ID = _read(env.str, "OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = _read(env.str, "OIDC_CLIENT_SECRET", default="")
OIDC_SCOPES = _read(env.list, "OIDC_SCOPES", default=["openid", "profile", "email"])
OIDC_ROLE_CLAIM = _read(env.str, "OIDC_ROLE_CLAIM", default="groups")
OIDC_ROLES = _read(env.dict, "OIDC_ROLES", default={})
_unknown_roles = sorted(set(OIDC_ROLES.values()) - {"reviewer", "uploader", "staff"})
if _unknown_roles:
    raise ImproperlyConfigured(
        f"Environment variable OIDC_ROLES: {_unknown_roles[0]!r} is no role; "
        "expected pairs such as lab-staff=staff,lab=reviewer with the roles reviewer, uploader and staff"
    )
if OIDC_ISSUER:
    _plain = not EMBEDDED and urlsplit(OIDC_ISSUER).scheme != "https"
    if _plain or urlsplit(OIDC_ISSUER).scheme not in {"http", "https"}:
        raise ImproperlyConfigured(
            f"OIDC_ISSUER is {OIDC_ISSUER!r}; expected an address such as https://HOST"
        )
    for _name, _value in (("OIDC_CLIENT_ID", OIDC_CLIENT_ID), ("OIDC_CLIENT_SECRET", OIDC_CLIENT_SECRET)):
        if not _value:
            raise ImproperlyConfigured(f"{_name} is not set. OIDC_ISSUER needs it: the provider gave it out")
    SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "SCOPE": OIDC_SCOPES,
            "APPS": [{
                "provider_id": OIDC_ID, "name": OIDC_NAME, "client_id": OIDC_CLIENT_ID,
                "secret": OIDC_CLIENT_SECRET, "settings": {"server_url": OIDC_ISSUER},
            }],
        }
    }  # fmt: skip
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
# An attempt that is refused counts no further, or nobody who keeps trying would ever get in again.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_HANDLER = "rlvram_site.logins.limits.LoginLimits"
AXES_CLIENT_IP_CALLABLE = "rlvram_site.client_address.limited_address"
AXES_LOCKOUT_CALLABLE = "rlvram_site.logins.limits.refused"
AXES_VERBOSE = False

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = _read(env.str, "STATIC_ROOT", default=str(DATA_DIR / "static"))
STATICFILES_DIRS = [FILES_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
]


def _evidence_storage() -> dict[str, Any]:
    """``EVIDENCE_STORAGE_URL`` as one of Django's storages; the default is a folder under ``DATA_DIR``."""
    url = _read(env.str, "EVIDENCE_STORAGE_URL", default="").strip()
    files = {"BACKEND": "rlvram_site.evidence_storage.DurableFiles"}
    if not url:
        return files
    try:
        parts = urlsplit(url)
        asked = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
        name, place = parts.hostname or "", unquote(parts.path)
        login = parts.username or parts.password
    except ValueError as error:
        raise ImproperlyConfigured(f"EVIDENCE_STORAGE_URL can't be read as an address: {error}") from error
    if parts.scheme == "file" and not name and place.startswith("/") and not asked:
        return {**files, "OPTIONS": {"location": place}}
    known = {"endpoint", "region", "addressing"}
    if parts.scheme != "s3" or not name or login or not set(asked) <= known:
        raise ImproperlyConfigured(
            f"EVIDENCE_STORAGE_URL starts with {parts.scheme or 'nothing'!r}; expected file:///FOLDER or "
            "s3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME&addressing=path, all after BUCKET left out "
            "where it isn't needed. Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    only = {key: values[-1] for key, values in asked.items()}
    if (style := only.get("addressing", "path" if "endpoint" in only else "auto")) not in _S3_ADDRESSING:
        raise ImproperlyConfigured(
            f"EVIDENCE_STORAGE_URL: addressing is {style!r}, expected one of {', '.join(_S3_ADDRESSING)}"
        )
    return {
        "BACKEND": "rlvram_site.evidence_objects.EvidenceObjects",
        "OPTIONS": {
            "bucket_name": name, "location": place.strip("/"), "addressing_style": style,
            "endpoint_url": only.get("endpoint"), "region_name": only.get("region"),
            # Empty: boto3 looks for a profile, or the machine's own role.
            "access_key": _read(env.str, "AWS_ACCESS_KEY_ID", default="") or None,
            "secret_key": _read(env.str, "AWS_SECRET_ACCESS_KEY", default="") or None,
        },
    }  # fmt: skip


_S3_ADDRESSING = ("auto", "path", "virtual")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "evidence": _evidence_storage(),
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
MEDIA_ROOT = DATA_DIR / "files"
# What is still arriving lies on the disk that is watched, and where leftovers are looked for.
FILE_UPLOAD_TEMP_DIR = str(DATA_DIR / "incoming")

# No inline script or style anywhere; figures are JSON that a file of ours hands to plotly.js.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
_https = _read(env.bool, "HTTPS", default=not EMBEDDED)
SECURE_SSL_REDIRECT = _https
SECURE_REDIRECT_EXEMPT = [r"^health/", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _https
SECURE_HSTS_PRELOAD = _https
SESSION_COOKIE_SECURE = _https
CSRF_COOKIE_SECURE = _https
CSRF_COOKIE_HTTPONLY = True
BEHIND_PROXY = _read(env.bool, "BEHIND_PROXY", default=False)
_proxies = _read(env.list, "TRUSTED_PROXIES", default=[])
# Without a list, one proxy on this machine or in a private network.
TRUSTED_PROXY_HOPS = 32 if _proxies else 1
try:
    TRUSTED_PROXY_NETWORKS = networks(_proxies or (LOCAL_NETWORKS if BEHIND_PROXY else ()))
except ValueError as _error:
    raise ImproperlyConfigured(
        f"Environment variable TRUSTED_PROXIES: {_error}; "
        "expected addresses or networks such as 10.0.3.0/24, comma separated"
    ) from _error
if TRUSTED_PROXY_NETWORKS:
    # The header is there only if one of them sent it.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rlvram_site.api.parsers.BoundedJSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rlvram_site.api.authentication.ApiKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rlvram_site.api.permissions.ScopePermission"],
    "DEFAULT_THROTTLE_CLASSES": ["rlvram_site.api.throttling.MinuteThrottle"],
    "DEFAULT_FILTER_BACKENDS": ["rlvram_site.api.filters.FilterBackend"],
    "DEFAULT_METADATA_CLASS": "rlvram_site.api.options.AllowedMethods",
    "EXCEPTION_HANDLER": "rlvram_site.api.errors.handle",
    # Numbers and times as they are recorded.
    "COERCE_DECIMAL_TO_STRING": False,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Memory studies",
    "DESCRIPTION": "Read what studies recorded, and add to it. Nothing recorded is ever changed.",
    "VERSION": product_version(),
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rlvram_site.api.permissions.ScopePermission"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "LabelEnum": "studies.models.base.Label",
        "OutcomeEnum": "studies.models.Attempt.Outcome",
        "EvidenceKindEnum": "studies.models.EvidenceFile.Kind",
        "SetKindEnum": "studies.models.PredictionSet.Kind",
        "RecordedStatusEnum": ["recorded", "unchanged"],
        "StudyEventStatusEnum": "studies.models.Event.Status",
        "WitnessOutcomeEnum": "admission.models.Witness.Outcome",
        "RecordOriginEnum": "admission.models.base.Origin",
        "AttemptOriginEnum": "studies.models.Attempt.Origin",
        "HeadStateEnum": "admission.models.ChangeHead.State",
        "JobStateEnum": "studies.models.Job.State",
        "StatusKindEnum": "admission.models.StatusUpdate.Kind",
        "ThreadKindEnum": "admission.models.ThreadItem.Kind",
        "IssueEventKindEnum": "admission.models.IssueEvent.Kind",
        "CorrectionKindEnum": "admission.models.Correction.Kind",
        "ProposalKindEnum": "admission.models.Proposal.Kind",
    },
    "PREPROCESSING_HOOKS": ["admission.api.schema.one_route_per_issue"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "rlvram_site.api.schema.document_errors",
    ],
}
_MIB = 1024 * 1024
_positive = validate.Range(min=1)
API_MAX_JSON_BYTES = _read(env.int, "API_MAX_JSON_MIB", default=16, validate=_positive) * _MIB
API_MAX_UPLOAD_BYTES = _read(env.int, "API_MAX_UPLOAD_MIB", default=256, validate=_positive) * _MIB
API_MAX_BATCH = _read(env.int, "API_MAX_BATCH", default=2000, validate=_positive)
EVIDENCE_MAX_FILE_BYTES = _read(env.int, "EVIDENCE_MAX_FILE_MIB", default=64, validate=_positive) * _MIB
EVIDENCE_MAX_UNPACKED_BYTES = (
    _read(env.int, "EVIDENCE_MAX_UNPACKED_MIB", default=512, validate=_positive) * _MIB
)
# An upload that holds more than this, unpacked, is read in a process of its own that has these limits.
DERIVATION_AT_ONCE_BYTES = (
    _read(env.int, "DERIVATION_AT_ONCE_MIB", default=4, validate=validate.Range(min=0)) * _MIB
)
DERIVATION_MEMORY_BYTES = (
    _read(env.int, "DERIVATION_MEMORY_MIB", default=1024, validate=validate.Range(min=256)) * _MIB
)
DERIVATION_CPU_SECONDS = _read(env.int, "DERIVATION_CPU_SECONDS", default=300, validate=_positive)
# 0: no limit. A study's own limit, set in the admin, goes before.
EVIDENCE_STUDY_QUOTA_BYTES = (
    _read(env.int, "EVIDENCE_STUDY_QUOTA_MIB", default=0, validate=validate.Range(min=0)) * _MIB
)
EVIDENCE_CHECK_DAYS = _read(env.int, "EVIDENCE_CHECK_DAYS", default=7, validate=_positive)
# What no record names is removed after so long: an upload may be on its way.
EVIDENCE_GRACE_HOURS = _read(env.int, "EVIDENCE_GRACE_HOURS", default=24, validate=_positive)
# Below so much free space uploads are refused, so that what runs can go on and end.
DISK_RESERVE_BYTES = _read(env.int, "DISK_RESERVE_MIB", default=256, validate=validate.Range(min=0)) * _MIB
# Per key, person or address; 0 means no limit. The processes of one machine count together, several machines
# through CACHE_URL.
API_READS_PER_MINUTE = _read(env.int, "API_READS_PER_MINUTE", default=3000, validate=validate.Range(min=0))
API_WRITES_PER_MINUTE = _read(env.int, "API_WRITES_PER_MINUTE", default=3000, validate=validate.Range(min=0))

# Measurements for Prometheus at /metrics, for whoever has the token or connects from one of the networks.
METRICS_TOKEN = _read(env.str, "METRICS_TOKEN", default="").strip()
METRICS_NETWORKS = _read(env.list, "METRICS_NETWORKS", default=[])
for _network in METRICS_NETWORKS:
    try:
        ip_network(_network)
    except ValueError as _error:
        raise ImproperlyConfigured(
            f"Environment variable METRICS_NETWORKS: {_error}; "
            "expected networks such as 10.1.0.0/16, comma separated"
        ) from _error
if METRICS_TOKEN and len(METRICS_TOKEN) < 16:
    raise ImproperlyConfigured("METRICS_TOKEN is shorter than 16 characters, expected a long random value")
METRICS = bool(METRICS_TOKEN or METRICS_NETWORKS)
if METRICS:
    INSTALLED_APPS.append("django_prometheus")
    MIDDLEWARE.insert(0, "django_prometheus.middleware.PrometheusBeforeMiddleware")
    MIDDLEWARE.append("django_prometheus.middleware.PrometheusAfterMiddleware")
    PROMETHEUS_EXPORT_MIGRATIONS = False

LOG_FORMAT = _read(env.str, "LOG_FORMAT", default="text", validate=validate.OneOf(["text", "json"]))
# One line for each request; off on one's own machine, where nobody reads it.
LOG_REQUESTS = _read(env.bool, "LOG_REQUESTS", default=not EMBEDDED)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"ids": {"()": "operating.logs.Ids"}},
    "formatters": {
        "text": {
            "()": "operating.logs.Text",
            "format": "{asctime} {levelname} {name} {message}{ids}",
            "style": "{",
        },
        "json": {"()": "operating.logs.JsonLines"},
    },
    "handlers": {
        "console": {"class": "host.terminal.PlainHandler", "formatter": LOG_FORMAT, "filters": ["ids"]}
    },
    "loggers": {"rlvram.requests": {"level": "INFO" if LOG_REQUESTS else "CRITICAL"}},
    "root": {
        "handlers": ["console"],
        "level": _read(
            env.str,
            "LOG_LEVEL",
            default="WARNING",
            validate=validate.OneOf(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]),
        ),
    },
}
