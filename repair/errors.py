"""What can go wrong in `repair` so that the caller cannot go on.

RepairError
├── CollectionError    the local collection cannot be opened, read or written
├── ArchiveMemoryError what archives said cannot be opened, read or written
├── ImportFailed       a file or folder to import is not what it claims to be
├── EvaluationFailed   a collection folder cannot be measured or learnt from
└── ModelMismatch      a saved model knows other features, or is of another version
"""


class RepairError(Exception):
    """The root: its message says what, where, and what was found."""


class CollectionError(RepairError):
    """The local collection cannot be opened, read or written."""


class ArchiveMemoryError(RepairError):
    """The file of what archives said cannot be opened, read or written."""


class ImportFailed(RepairError):
    """A file or folder to import is not what it claims to be."""


class EvaluationFailed(RepairError):
    """A collection folder cannot be measured or learnt from."""


class ModelMismatch(RepairError):
    """A saved model knows other features than we do, or is of another version."""
