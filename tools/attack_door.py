"""Attacks a door that really listens, in every way that the tests know, and prints what each attack got.

    python tools/attack_door.py

Ends with status 1 if one of them got through.
"""

import sys

from livefusion.server.door import open_door
from livefusion.testing.door_floods import ATTACKS, measured


def main() -> int:
    """Try each attack on a door of its own."""
    broken = 0
    print("| attack | what it got | held | seconds |\n|---|---|---|---|")
    for attack in ATTACKS:
        with open_door(attack.settings, attack.limits) as door:
            verdict, seconds = measured(attack, door)
        broken += not verdict.held
        print(
            f"| {attack.name} | {verdict.got} | {'yes' if verdict.held else 'NO'} | {seconds:.1f} |",
            flush=True,
        )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
