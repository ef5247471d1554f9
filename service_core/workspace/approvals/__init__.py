"""Approvals: writes of programs that wait until a person approves or declines them."""
