"""Information retrieval for broken links: evidence, candidates, ranking. Knows nothing of proxies.

Read `model` first (the values), then `pipeline` (the stages).
"""

import os

# These matrices are small: waking a second thread costs more time than it saves, and the proxy needs the core.
# Set before anything imports numpy, which reads these variables once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
