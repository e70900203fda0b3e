"""Threads and clocks: mailboxes, stages, supervision, latency. Knows no media library."""
