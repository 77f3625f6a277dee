"""The studies' part of the REST API. Views and serializers only call ``studies.services``."""
