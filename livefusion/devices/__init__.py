"""Where pixels live: streams, events, memory."""
