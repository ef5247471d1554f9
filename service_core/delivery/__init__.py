"""What leaves the house: exports of events, persons and attribution as files."""
