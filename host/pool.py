"""The devices that this process may use, each for one slot at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from host.devices import Device, busy, chosen, devices, of_this_host
from host.errors import DeviceBusy, DeviceError
from host.order import Order

LOOK_AGAIN_SECONDS = 0.5


class DevicePool:
    """Gives out disjoint devices. ``only`` names those that may be used; none named means all.

    ``wait_seconds`` is how long a slot waits for devices that are in use, by this process or by others.
    """

    def __init__(self, only: Sequence[str] = (), wait_seconds: float = 0) -> None:
        self.only = tuple(only)
        self.wait_seconds = wait_seconds
        self._taken: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def take(self, order: Order) -> Iterator[list[Device]]:
        """The order's devices, idle and nobody else's of this process, while NVML is open.

        Raises ``DeviceError`` if they are not on this machine or not for this process, ``DeviceBusy`` if they
        did not become free in time.
        """
        with devices() as found:
            usable = of_this_host(found, self.only)
            task = self._wait(order, usable)
            try:
                yield task
            finally:
                with self._lock:
                    self._taken -= {device.uuid for device in task}

    def _wait(self, order: Order, usable: Sequence[Device]) -> list[Device]:
        if order.device_count > len(usable):
            raise DeviceError(
                f"{order.slot} needs {order.device_count} devices, and there are {len(usable)} here"
            )
        wanted = chosen(usable, order.device_uuids) if order.device_uuids else None
        give_up = time.monotonic() + self.wait_seconds
        while True:
            with self._lock:
                task, reason = self._free(order, usable if wanted is None else wanted)
                if task:
                    self._taken |= {device.uuid for device in task}
                    return task
            if time.monotonic() >= give_up:
                raise DeviceBusy(reason)
            time.sleep(LOOK_AGAIN_SECONDS)

    def _free(self, order: Order, among: Sequence[Device]) -> tuple[list[Device], str]:
        """Enough free devices, or none and why not."""
        free, reasons = [], []
        for device in among:
            if device.uuid in self._taken:
                reasons.append(f"{device.uuid} is used by another slot of this host")
            elif reason := busy(device, order.idle_mib):
                reasons.append(reason)
            else:
                free.append(device)
        enough = free[: order.device_count]
        return (enough, "") if len(enough) == order.device_count else ([], "; ".join(reasons))
