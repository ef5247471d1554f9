"""The example shop of the demo: a workspace with invented visits, orders, subscriptions, ad spend and saved work."""
