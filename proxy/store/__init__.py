"""Stored responses on disk: lookup, eviction, streaming. proxy.cache decides what may be stored.

responses         the store: memory, evictable and pinned responses behind one class; read this first
memory            the most used small responses
tiers             the evictable and the pinned tier, and error handling when the disk fails
diskstore, rows   one directory of responses over diskcache
records           a response as bytes and back, with checksums
spool             a streamed body on its way to disk
bodyserver        a large body on its way from disk, over loopback
reserve           disk space reserved for the next start on a full disk
invalidation      changed responses: no process serves an old copy from memory
directorylock     the lock on a directory, and the cleanup after a killed process
"""
