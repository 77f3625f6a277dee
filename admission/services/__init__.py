"""Rules about tracked issues, each in one place. Pages, commands and the API call these and decide nothing.

``importing``  an exported thread into records          ``exchange``  records to a file and back
``recording``  what staff may add                       ``proposals`` what text suggests
``uploads``    what is sent under a sender's own key, once
``standing``   current status, what it superseded, events, open questions, corrections
``changes``    heads and the verdicts that stand          ``witnesses`` the class of each decision
``timeline``   everything in time, page by page
"""
