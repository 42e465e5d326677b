"""Runs Scrapy in forks of a process that has imported it, by a Python that has the wheel.

To import Scrapy and the plugin takes longer than most crawls of tests. This file is run, not
imported: each line on standard input is what to run, and each on standard output an exit status.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from typing import Any

import preloaded  # type: ignore[import-not-found]  # noqa: F401 (it is beside this file)
from scrapy.cmdline import execute

_LONGEST = 120  # seconds


def _tell(started: str, event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen" and arguments[0] == sys.executable:
        print(started, arguments[1], file=sys.stderr, flush=True)


def main() -> None:
    """Run what standard input says, one after the other."""
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            signal.alarm(_LONGEST)
            for number, name in enumerate((os.devnull, order["output"], order["log"])):
                os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
            sys.addaudithook(partial(_tell, order["started"]))
            os.environ.update(order["variables"])
            os.chdir(order["folder"])
            sys.path[0] = order["folder"]
            sys.argv = ["scrapy", *order["arguments"]]
            execute()  # which ends the process
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
