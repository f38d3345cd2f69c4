"""The pages of docs/reference, made from the code that they describe. Pure; `tests.docs` writes them."""
