"""The version of this package, which is that of the program it belongs to."""

VERSION = "0.1.0"
