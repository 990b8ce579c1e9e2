"""``python -m labelbayes``."""

import sys

from labelbayes.cli import main

if __name__ == "__main__":
    sys.exit(main())
