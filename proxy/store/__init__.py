"""The responses on disk: how they are kept, found, evicted and streamed. What may be kept is decided in proxy.cache.

responses    the store: memory, evictable and pinned responses behind one door
memory       the most used small responses
shelves      the evictable and the pinned shelf, and what to do when the disk fails
shelf, rows  one directory of responses over diskcache
records      a response as bytes and back, with checksums
spool        a streamed body on its way to disk
bodyserver   a large body on its way from disk, over loopback
tenancy      who uses a directory, and what a killed process left there
complaints   log lines about the disk, not too many of them
"""
