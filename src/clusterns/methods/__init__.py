"""Methods: settings come in, a checked recipe goes out, with the parts, views and defaults that a method consists of.

A method is a record without PyTorch; what its parts compute is in the file of the same name in `losses`.
"""
