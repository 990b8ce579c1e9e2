"""Run one validation experiment in full: python -m tests.validation V15."""

import importlib
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Run the experiment that is named, and return 1 where it fails."""
    known = sorted(path.stem for path in Path(__file__).parent.glob("v[0-9]*.py"))
    if len(arguments) != 1 or arguments[0].lower() not in known:
        names = ", ".join(name.upper() for name in known)
        print(f"Name one experiment: python -m tests.validation {{{names}}}", file=sys.stderr)
        return 2
    experiment = importlib.import_module(f"tests.validation.{arguments[0].lower()}")
    return 0 if experiment.main() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
