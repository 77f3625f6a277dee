"""Signing heads with the site's Ed25519 key, whose private part is nowhere but in the environment."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from rlvram_site.ledger.chain import lock_stream
from rlvram_site.witness.models import STREAM, HeadSignature, SigningKey


def private_key() -> Ed25519PrivateKey | None:
    """The configured key, None without one. Raises ``ImproperlyConfigured`` for what is none, or is open."""
    text, name = settings.SIGNING_KEY.encode(), "SIGNING_KEY"
    if settings.SIGNING_KEY_FILE:
        name, path = "SIGNING_KEY_FILE", Path(settings.SIGNING_KEY_FILE)
        try:
            mode = path.stat().st_mode & 0o777
            text = path.read_bytes()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}: {path} can't be read ({error.strerror})") from None
        if mode & 0o077:
            raise ImproperlyConfigured(f"{name}: {path} has mode {mode:o}, expected 600: others can read it")
    if not text:
        return None
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ImproperlyConfigured(
            f"{name}: expected an Ed25519 key in PEM, as openssl genpkey -algorithm ed25519 writes it"
        )
    return key


def public_pem(key: Ed25519PrivateKey) -> str:
    """The public part, as everybody may have it."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def sign_heads(covers: list[dict[str, Any]], content: bytes) -> HeadSignature | None:
    """Record a signature of these heads, and before it the key if it is a new one. None without a key."""
    key = private_key()
    if key is None:
        return None
    with transaction.atomic():
        lock_stream(STREAM)
        public = public_pem(key)
        held = SigningKey.objects.last()
        if held is None or held.public_key != public:
            held = SigningKey(public_key=public)
            held.save()
        row = HeadSignature(key=held, covers=covers, signature=base64.b64encode(key.sign(content)).decode())
        row.save()
    return row


def holds(public_key: str, signature: str, content: bytes) -> bool:
    """Whether ``signature`` (base64) is one of ``content`` by ``public_key`` (PEM)."""
    try:
        key = serialization.load_pem_public_key(public_key.encode())
        if not isinstance(key, Ed25519PublicKey):
            return False
        key.verify(base64.b64decode(signature, validate=True), content)
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True
