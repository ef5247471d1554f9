"""``python -m hosts.cli``: the command line, where the script is not on the path."""

from hosts.cli import main

if __name__ == "__main__":
    main()
