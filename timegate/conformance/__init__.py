"""Whether an archive keeps to RFC 7089, and to what its users rely on besides.

    subject -> gather (asks, once each, through a `Session`) -> Facts -> checks -> Report

Only `gather` asks. The checks are pure functions of facts, one for each requirement, so that
they can be run again from a recording.
"""
