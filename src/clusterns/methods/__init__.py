"""Methods: the input is settings, the output a checked recipe with a method's parts, views and defaults.

A method is a record and does not load PyTorch; the file of the same name in `losses` computes its parts.
"""
