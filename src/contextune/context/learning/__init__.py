"""What users do and say changes the order of later answers, without training."""
