"""The study's names as pages write them, and what they ask of a file."""

from __future__ import annotations

from django import template

from studies.services.outcomes.evidence_files import bytes_are_here
from studies.text import words

register = template.Library()
register.filter("method", words.method_words)
register.filter("family", words.family_words)
register.filter("label", words.label_words)
register.filter("sentence", words.sentence)
register.filter("bytes_are_here", bytes_are_here)
