"""``python -m livefusion``: the command line."""

import sys

from livefusion.cli.main import main

sys.exit(main())
