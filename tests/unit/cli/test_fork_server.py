import subprocess
import sys


def test_loaded_broker_has_no_reactor_and_no_thread_yet() -> None:
    """Both would be shared by all brokers that are forked."""
    code = (
        "import sys, threading\n"
        "from kafkalike.cli.fork_server import load_broker\n"
        "load_broker()\n"
        "assert 'kafkalike.server.kafka_server' in sys.modules\n"
        "assert 'twisted.internet.reactor' not in sys.modules\n"
        "assert threading.active_count() == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
