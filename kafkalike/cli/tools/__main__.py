"""`python -m kafkalike.cli.tools kafka-topics …`: what the scripts of a checkout run."""

import importlib
import sys

from kafkalike.cli.tools.names import MODULES


def main() -> int:
    """Run the tool that the first argument names."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in MODULES:
        sys.stderr.write(f"there is no tool {name!r}; there are: {', '.join(MODULES)}\n")
        return 1
    del sys.argv[1]
    return int(importlib.import_module(MODULES[name]).main())


if __name__ == "__main__":
    sys.exit(main())
