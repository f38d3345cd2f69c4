"""Reading raw API objects: plain dicts in, plain values out. Pure.

User objects are never made into typed models and back, since unknown fields must survive. What is read is checked where it
is read: a field of a type that the API forbids raises MalformedObject with its path.
"""
