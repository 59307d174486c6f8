"""What every estimator shares: reading tables, verbs, calibration, explanation."""
