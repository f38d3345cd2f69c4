"""Fixed pod addresses: what the process remembers and writes for admission, and what the leader does.

resources calico caches   AddressReservations, AddressPools, StatefulSets and Calico's own objects, followed
book allocator            which address is free, and how one is reserved
plan reconciler           what becomes of a reservation (pure), and what carries it out
"""
