"""Asking a time-stamping authority (RFC 3161), and checking what it answered."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import rfc3161_client
from cryptography import x509
from django.conf import settings

LARGEST = 64 * 1024
"""Bytes of an answer; one with its certificates has a few thousand."""
_KIND = "application/timestamp-reply"


class AuthorityError(Exception):
    """No stamp: the authority did not answer, refused, or its answer does not hold. The text says why."""


@dataclass(frozen=True)
class Stamp:
    """A checked answer: its bytes (DER), the authority's time, and who signed it."""

    response: bytes
    stamped_at: dt.datetime
    signer: str


def address() -> str:
    """The authority's address without name and password."""
    parts = urlsplit(settings.TIMESTAMP_URL)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def configured_chain() -> str:
    """The certificates that are trusted, PEM. Raises ``AuthorityError`` for a file that can't be read."""
    try:
        with open(settings.TIMESTAMP_CHAIN, encoding="ascii") as file:
            return file.read(LARGEST * 4)
    except (OSError, UnicodeDecodeError) as error:
        raise AuthorityError(f"TIMESTAMP_CHAIN: no certificates can be read there ({error})") from None


def request_stamp(content: bytes, chain: str) -> Stamp:
    """Have ``content`` stamped by the configured authority. Raises ``AuthorityError``."""
    builder = rfc3161_client.TimestampRequestBuilder().data(content)
    builder = builder.hash_algorithm(rfc3161_client.base.HashAlgorithm.SHA256)
    question = builder.nonce(nonce=True).cert_request(cert_request=True).build()
    return check_stamp(_post(question.as_bytes()), content, chain, question.nonce)


def check_stamp(response: bytes, content: bytes, chain: str, nonce: int | None = None) -> Stamp:
    """The answer, if it stamps ``content``, answers ``nonce`` and is signed under ``chain`` (PEM).

    Certificates must have been valid at the stamp's own time. Raises ``AuthorityError`` with the reason.
    """
    try:
        certificates = x509.load_pem_x509_certificates(chain.encode())
    except ValueError:
        raise AuthorityError("the chain holds no certificate in PEM") from None
    builder = rfc3161_client.VerifierBuilder()
    for certificate in dict.fromkeys(certificates):
        builder = builder.add_root_certificate(certificate)
    if nonce is not None:
        builder = builder.nonce(nonce)
    try:
        answer = rfc3161_client.decode_timestamp_response(response)
    except ValueError:
        raise AuthorityError("what the authority sent is no time stamp") from None
    if answer.status != rfc3161_client.PKIStatus.GRANTED:
        reason = "; ".join(answer.status_string) or f"status {answer.status}"
        raise AuthorityError(f"the authority refused: {reason}")
    try:
        builder.build().verify_message(answer, content)
        return Stamp(response, answer.tst_info.gen_time, _signer(answer, certificates))
    except (rfc3161_client.VerificationError, ValueError) as error:
        raise AuthorityError(f"the time stamp does not hold: {_plain(str(error))}") from None


def _plain(reason: str) -> str:
    words = {
        "Nonce mismatch": "it answers another request (its nonce differs)",
        "Mismatch between messages": "it stamps another digest than the one that was sent",
        "Error while verifying certificates": "its signature is not one of the trusted chain, or a "
        "certificate had expired or was not yet valid at that time",
    }
    return next((text for start, text in words.items() if reason.startswith(start)), reason)


def _signer(answer: rfc3161_client.TimeStampResponse, trusted: list[x509.Certificate]) -> str:
    (info,) = answer.signed_data.signer_infos
    sent = [x509.load_der_x509_certificate(der) for der in answer.signed_data.certificates]
    for certificate in [*sent, *trusted]:
        if certificate.issuer == info.issuer and certificate.serial_number == info.serial_number:
            return certificate.subject.rfc4514_string()
    return info.issuer.rfc4514_string()


def _post(question: bytes) -> bytes:
    """The authority's answer, at most ``LARGEST`` bytes within ``TIMESTAMP_TIMEOUT_SECONDS`` in all."""
    limit = settings.TIMESTAMP_TIMEOUT_SECONDS
    ends = time.monotonic() + limit
    headers = {"Content-Type": "application/timestamp-query", "Accept": _KIND}
    try:
        with httpx.Client(timeout=limit, follow_redirects=False) as client, client.stream(
            "POST", settings.TIMESTAMP_URL, content=question, headers=headers
        ) as answer:  # fmt: skip
            if answer.status_code != 200:
                raise AuthorityError(f"the authority answered with HTTP {answer.status_code}")
            content = b""
            for piece in answer.iter_raw():
                content += piece
                if len(content) > LARGEST:
                    raise AuthorityError(f"the authority's answer is larger than {LARGEST} bytes")
                if time.monotonic() > ends:
                    raise AuthorityError(f"the authority did not answer within {limit} seconds")
            return content
    except httpx.TimeoutException:
        raise AuthorityError(f"the authority did not answer within {limit} seconds") from None
    except httpx.HTTPError as error:
        raise AuthorityError(f"the authority can't be reached ({type(error).__name__})") from None
