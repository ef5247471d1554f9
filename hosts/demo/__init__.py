"""The main job on real input: a service, an import, and answers to look at."""
