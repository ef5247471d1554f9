"""The core of Touchpoint: what it means, without saying where it is kept or how it is served."""
