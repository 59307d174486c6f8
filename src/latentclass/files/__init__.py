"""Model files: fitted estimators as checked values, without any code in them."""
