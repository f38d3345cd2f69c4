"""Fixed pod addresses: the book, the allocator and the controller."""
