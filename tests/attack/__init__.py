"""Attacks on real processes on 127.0.0.1: hostile archives, clients, files and surroundings."""
