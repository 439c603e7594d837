"""Information retrieval for broken links: evidence, candidates, ranking. Knows nothing of proxies."""

import os

# The matrices here are small: a second thread takes longer to wake than it helps, and the proxy needs the core.
# Before anything imports numpy, which reads these once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
