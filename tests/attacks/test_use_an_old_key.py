"""The secret key is changed: what the one before signed holds as long as it is a fallback, and no longer."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.tokens import default_token_generator
from django.test import Client

from notices.keys import subscription_of, unsubscribe_token
from notices.models import Subscription

PASSWORD = "a long enough passphrase"
OLD, NEW = "o" * 60, "n" * 60


@pytest.fixture
def before(settings, db):
    """A session, a link to reset a password, one to unsubscribe and a known browser, all of the old key."""
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OLD, []
    user = get_user_model().objects.create_user("ada", password=PASSWORD, is_staff=True)
    client = Client()
    client.post("/login/", {"username": "ada", "password": PASSWORD})
    user.refresh_from_db()
    subscription = Subscription.objects.create(user=user, channel=Subscription.Channel.EMAIL)
    reset = default_token_generator.make_token(user)
    return client, user, reset, unsubscribe_token(subscription), subscription


def known(client: Client) -> bool:
    """Whether the browser is still counted apart after somebody else has locked the name here."""
    client.post("/logout/")
    for _ in range(5):
        Client().post("/login/", {"username": "ada", "password": "wrong"})
    return client.post("/login/", {"username": "ada", "password": PASSWORD}).status_code == 302


@pytest.mark.parametrize("fallback", [True, False])
def test_what_the_old_key_signed_holds_as_long_as_it_is_a_fallback(settings, before, fallback):
    client, user, reset, unsubscribe, subscription = before
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD] if fallback else []
    user = get_user_model().objects.get(pk=user.pk)
    assert (client.get("/admin/").status_code == 200) is fallback
    assert default_token_generator.check_token(user, reset) is fallback
    assert (subscription_of(unsubscribe) == subscription) is fallback
    assert known(client) is fallback
