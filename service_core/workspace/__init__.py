"""What a workspace owns: trackable links, script proposals."""
