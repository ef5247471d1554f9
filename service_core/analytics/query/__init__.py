"""From a question to its answer: plan, resolve, split by source, evaluate, join, round."""
