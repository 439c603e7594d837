"""What an operator can put right.

LinkmendError
├── SettingsError        a settings file or value is wrong; names the file and the key
├── StoreError           a store cannot be opened or is damaged
├── BackupError          a backup cannot be made, read or put back
├── DistrictUnavailable  the district's database does not answer, or refuses
└── StartError           the proxy cannot start (port taken, unsupported mitmproxy, ...)
"""


class LinkmendError(Exception):
    """The root: its message is one line, fit for a terminal."""


class SettingsError(LinkmendError):
    """A settings file or value is wrong; the message names the file and the key."""


class StoreError(LinkmendError):
    """A store cannot be opened or is damaged."""


class StartError(LinkmendError):
    """The proxy cannot start."""


class BackupError(LinkmendError):
    """A backup cannot be made, read or put back."""


class DistrictUnavailable(LinkmendError):
    """The district's database does not answer, or refuses."""
