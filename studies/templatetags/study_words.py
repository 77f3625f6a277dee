"""The study's names as pages write them."""

from __future__ import annotations

from django import template

from studies.text import words

register = template.Library()
register.filter("method", words.method_words)
register.filter("family", words.family_words)
register.filter("label", words.label_words)
register.filter("sentence", words.sentence)
