"""What a shell starts as `leadhand`: quiet when it is interrupted before the command line is even read."""

from __future__ import annotations

import signal


def main() -> None:
    """Run a verb; Ctrl-C while modules are loaded ends the process without a trace."""
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.default_int_handler:  # whoever started us may want it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from orchestrator.cli.main import main as run_verb

    signal.signal(signal.SIGINT, heard)
    run_verb()
