"""Fuzzing: any octets at every parser and every seam raise nothing but what is documented.

`targets` lists what is fuzzed, and `test_fuzz.py` keeps the list complete. `make test` runs a
fixed number of cases of `mutations`; `make fuzz` runs atheris for an hour.
"""
