"""What holds for every test."""

import signal

from hypothesis import settings

# No test asserts a time, so hypothesis does not either: machines are small, and busy.
settings.register_profile("timeless", deadline=None)
settings.load_profile("timeless")

# A shell starts what it runs in the background with SIGINT ignored, and so would the processes
# be that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
