"""Entry points: settings, source, transforms, sink; no column logic."""
