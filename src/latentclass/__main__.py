"""`python -m latentclass` is the command line."""

from latentclass.cli import main

if __name__ == "__main__":
    main()
