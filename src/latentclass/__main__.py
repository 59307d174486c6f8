"""`python -m latentclass` is the command line."""

from latentclass.cli import run

if __name__ == "__main__":
    run()
