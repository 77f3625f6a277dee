"""The tracked issues' part of the REST API. Views and serializers only call ``admission.services``."""
