"""The quickstart: start a cluster, move messages through it, show what to try next."""
