"""Errors of `repair` after which the caller cannot go on.

RepairError
├── CollectionError    the local collection cannot be opened, read or written
├── ArchiveMemoryError the store of archive answers cannot be opened, read or written
├── ImportFailed       a file or folder to import is not what it claims to be
├── FileTooCostly      a PDF or the like took more time or memory than one file may
├── EvaluationFailed   a collection folder cannot be measured or learnt from
└── ModelMismatch      a saved model has other features, or another version
"""


class RepairError(Exception):
    """The base class: its message says what failed, where, and what was found."""


class CollectionError(RepairError):
    """The local collection cannot be opened, read or written."""


class ArchiveMemoryError(RepairError):
    """The store of archive answers cannot be opened, read or written."""


class ImportFailed(RepairError):
    """A file or folder to import is not what it claims to be."""


class FileTooCostly(RepairError):
    """A PDF, EPUB, DOCX or ODT file took more time or memory than one file may."""


class EvaluationFailed(RepairError):
    """A collection folder cannot be measured or learnt from."""


class ModelMismatch(RepairError):
    """A saved model has other features than this code, or another version."""
