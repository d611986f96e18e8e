"""``python -m sgl_explain``: the command line."""

import sys

from sgl_explain.cli import main

if __name__ == "__main__":
    sys.exit(main())
