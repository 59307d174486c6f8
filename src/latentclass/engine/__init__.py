"""Functions on arrays that several families share; nothing here imports scikit-learn."""
