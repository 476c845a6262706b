#!/usr/bin/env python3
"""Runs a command and prints one JSON line: wall and CPU seconds, peak memory, exit code.

measure.py COMMAND [ARGUMENT …]

What the command prints goes to stderr, so that stdout holds the figures alone. CPU and memory are what the kernel
counted for the command and all it waited for.
"""
import json
import resource
import subprocess
import sys
import time


def main():
    wall = time.monotonic()
    code = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode
    wall = time.monotonic() - wall
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kibibytes elsewhere
    print(json.dumps({
        "wall_s": round(wall, 3), "cpu_s": round(used.ru_utime + used.ru_stime, 3),
        "rss_mb": round(used.ru_maxrss * unit / 1e6, 1), "exit": code,
    }))
    sys.exit(1 if code else 0)


if __name__ == "__main__":
    main()
