"""Ad spend: daily rows that ad platforms report of their accounts."""
