"""Events for each job, the same for the same seed, with known numbers of bad and late ones."""
