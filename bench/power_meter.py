"""What the NVIDIA cards of this machine draw. Standard library only."""

import statistics
import subprocess
import threading


class PowerMeter:
    """Mean power draw of the NVIDIA cards while active; None where there is no nvidia-smi."""

    COMMAND = ["nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits"]

    def __enter__(self):
        self.samples, self.stop = [], threading.Event()
        self.thread = threading.Thread(target=self.sample, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(timeout=6)

    def sample(self):
        while not self.stop.wait(0.25):
            try:
                text = subprocess.run(self.COMMAND, capture_output=True, text=True, timeout=5, check=True).stdout
                self.samples.append(sum(float(word) for word in text.split()))
            except (OSError, ValueError, subprocess.SubprocessError):
                return

    def mean(self):
        return round(statistics.mean(self.samples), 1) if self.samples else None
