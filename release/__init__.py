"""What is handed out: the program as one file (gatehouse.spec, entry.py, binary.py) and as an image (image.py).

The program imports nothing of it.
"""
