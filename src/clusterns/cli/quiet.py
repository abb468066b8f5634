"""The libraries' chatter, turned down: see :func:`clusterns.console.quiet_libraries`."""

from clusterns.console import quiet_libraries as quiet_libraries
