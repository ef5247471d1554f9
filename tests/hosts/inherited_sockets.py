"""Runs a command with sockets of the parent, as systemd passes them: ``DESCRIPTOR,DESCRIPTOR COMMAND...``."""

import os
import sys

FIRST = 3

if __name__ == "__main__":
    descriptors = [int(number) for number in sys.argv[1].split(",")]
    moved = [os.dup(number) for number in descriptors]
    for place, number in enumerate(moved, FIRST):
        os.dup2(number, place)
        os.set_inheritable(place, True)
    os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(descriptors))}
    os.execv(sys.argv[2], sys.argv[2:])
