"""Messages on their way: claimed by one UPDATE, sent, and then delivered, tried again later, or given up.

A worker holds a message for ``LEASE`` at most. One that is lost loses it, and another sends it, under the
same identity: the mail's Message-ID and the webhook's delivery id are those of the first attempt, so that a
receiver recognises what a worker sent in the very moment in which it was lost.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import smtplib
import time
from email.utils import parseaddr

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import F, Q
from django.utils import timezone

from notices import webhooks
from notices.keys import is_told
from notices.models import Message, Notice, Subscription
from notices.wording import document, mail_text, slack, subject_line, unsubscribe_address

logger = logging.getLogger(__name__)
LEASE = dt.timedelta(minutes=2)
"""Longer than one attempt can take: a mail server has ``EMAIL_TIMEOUT``, a webhook 30 s as a whole."""
WAITS = tuple(dt.timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 480))
"""Between attempts; after the last one the message has failed, until somebody tries again by hand."""
State = Message.State


class NotSent(Exception):
    """Why it was not sent, for a person. ``final``: trying again would not help."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


def due() -> Q:
    """Waiting and due, or held by a worker that was lost."""
    now = timezone.now()
    return Q(state=State.WAITING, due_at__lte=now) | Q(state=State.SENDING, lease_until__lt=now)


def claim(pk: int) -> Message | None:
    """Take a message. None: somebody else holds it, or it needs no sending any more."""
    taken = Message.objects.filter(due(), pk=pk).update(
        state=State.SENDING,
        lease_until=timezone.now() + LEASE,
        fence=F("fence") + 1,
        attempts=F("attempts") + 1,
    )
    return Message.objects.select_related("subscription__user").get(pk=pk) if taken else None


def deliver_due(*, seconds: float = float("inf")) -> tuple[int, int]:
    """Send what is due, for at most about ``seconds``. Returns how many were delivered and how many not."""
    end, delivered, failed = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        pk = Message.objects.filter(due()).order_by("due_at", "pk").values_list("pk", flat=True).first()
        if pk is None:
            break
        message = claim(pk)
        if message is None:
            continue
        if deliver(message):
            delivered += 1
        else:
            failed += 1
    return delivered, failed


def deliver(message: Message) -> bool:
    """Send a claimed message and write down what became of it."""
    subscription = message.subscription
    if subscription.ended_at or subscription.paused or not is_told(subscription.user):
        _end(message, state=State.DROPPED, problem="The subscription was paused or ended.")
        return False
    try:
        notices = list(message.notices.select_related("issue", "study").order_by("pk"))
        if not notices:
            raise NotSent("There is nothing in it.", final=True)
        _send(message, subscription, notices)
    except NotSent as error:
        _failed(message, str(error), final=error.final)
        return False
    except Exception:
        # Whatever it was, the others must still be sent; a developer finds it in the log.
        logger.exception("%s could not be sent", message)
        _failed(message, "An error that nobody expected; the server's log shows it.", final=False)
        return False
    _end(message, state=State.DELIVERED, delivered_at=timezone.now(), problem="")
    return True


def _end(message: Message, **values: object) -> None:
    """Only the worker that holds it may say what became of it."""
    held = Message.objects.filter(pk=message.pk, fence=message.fence, state=State.SENDING)
    held.update(lease_until=None, **values)


def _failed(message: Message, problem: str, *, final: bool) -> None:
    if final or message.attempts > len(WAITS):
        _end(message, state=State.FAILED, problem=problem[:500])
    else:
        again = timezone.now() + WAITS[message.attempts - 1]
        _end(message, state=State.WAITING, due_at=again, problem=problem[:500])


def retry(message: Message) -> bool:
    """Send a failed message again, at once. False if it has not failed."""
    again = Message.objects.filter(pk=message.pk, state__in=[State.FAILED, State.WAITING]).exclude(problem="")
    return bool(again.update(state=State.WAITING, due_at=timezone.now(), attempts=0))


def _send(message: Message, subscription: Subscription, notices: list[Notice]) -> None:
    if subscription.channel == Subscription.Channel.EMAIL:
        send_mail(message, subscription, notices)
    else:
        send_webhook(message, subscription, notices)


def mail_problem() -> str:
    """Why this site sends no mail; empty if it does."""
    return "" if settings.EMAIL_SENDS else "This site sends no mail: EMAIL_URL is not set."


def send_mail(message: Message, subscription: Subscription, notices: list[Notice]) -> None:
    """One mail. Raises ``NotSent``."""
    if problem := mail_problem():
        raise NotSent(problem, final=True)
    to = subscription.user.email
    if not to:
        raise NotSent("Your account has no mail address any more.", final=True)
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    link = unsubscribe_address(subscription)
    mail = EmailMessage(
        subject_line(notices, digest=message.digest),
        mail_text(subscription, notices, digest=message.digest),
        to=[to],
        headers={
            "Message-ID": f"<{message.identity}@{domain}>",
            "List-Unsubscribe": f"<{link}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            "Auto-Submitted": "auto-generated",
        },
    )
    try:
        mail.send()
    except smtplib.SMTPRecipientsRefused:
        raise NotSent(f"The mail server does not take mail for {to}.") from None
    except smtplib.SMTPAuthenticationError:
        raise NotSent("The mail server refuses the site's name and password.") from None
    except smtplib.SMTPResponseException as error:
        raise NotSent(f"The mail server answered with {error.smtp_code}.") from None
    except (smtplib.SMTPException, OSError) as error:
        raise NotSent(f"The mail server cannot be reached, or hung up ({type(error).__name__}).") from None


def webhook_body(message: Message, subscription: Subscription, notices: list[Notice]) -> bytes:
    """What is posted: the notices as JSON, or a Slack message."""
    if subscription.shape == Subscription.Shape.SLACK:
        return json.dumps(slack(notices)).encode()
    return json.dumps(document(str(message.identity), subscription, notices), sort_keys=True).encode()


def send_webhook(message: Message, subscription: Subscription, notices: list[Notice]) -> None:
    """One signed post. Raises ``NotSent``."""
    body = webhook_body(message, subscription, notices)
    timestamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "rlvram-studies",
        "X-Notice-Delivery": str(message.identity),
        "X-Notice-Timestamp": timestamp,
        "X-Notice-Signature-256": subscription.signature(timestamp, body),
    }
    try:
        webhooks.post(subscription.url, body, headers)
    except webhooks.TargetRefused as error:
        raise NotSent(str(error), final=True) from None
    except webhooks.PostFailed as error:
        raise NotSent(str(error)) from None
