"""Being told: who wants to know what about which issue or study, and how the message gets there.

``kinds``     what people are told of, in words
``issues``    what holds about an issue, and what differs from before
``studies``   the same of a study; the only module that reads studies
``watching``  finds streams that grew, compares, and writes notices and messages in one transaction
``wording``   a message as mail, as JSON, for Slack
``webhooks``  posting to a stranger's address, and never to a private one
``sending``   claims a message, sends it, tries again later
``keys``      feed keys and addresses to unsubscribe
"""
