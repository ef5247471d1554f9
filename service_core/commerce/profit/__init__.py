"""What is left of revenue after what it cost: several sources in one answer (contract 3.15)."""
