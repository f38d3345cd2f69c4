"""Sidecar entries at work: ConfigMaps of the cluster become the catalog that admission reads.

caches       the informers of injection
copies       ConfigMap -> entries and faults; many copies of one are read once
accounts     how much room each namespace's entries take
catalog      the owner of the catalog: two caches write, every request reads
controller   the led controller that tells of entries which broke or were mended, by Events on their ConfigMaps
news         what it tells
"""
