"""Profit: revenue, ad spend and costs in one response."""
