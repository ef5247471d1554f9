"""Events from one store into another, compared before it is called done."""
