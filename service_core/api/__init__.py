"""The one door: credential, budgets, path, scope, parse, handler, render."""
