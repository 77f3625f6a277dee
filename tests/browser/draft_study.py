"""Puts a draft of the real study, and a key for its uploads, into a running site's data folder."""

from __future__ import annotations

import django

if __name__ == "__main__":
    django.setup()
    from django.contrib.auth import get_user_model

    from rlvram_site.api.keys import issue_key
    from tests.api.panel import DRAFT, load_plan

    study = load_plan(DRAFT, slug="draft")
    owner = get_user_model().objects.get(username="admin")
    _, secret = issue_key(name="ci", owner=owner, scopes=["read", "attempts"], study=study)
    print(secret)
