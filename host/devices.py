"""Devices as NVML shows them: identity by UUID, memory in use, and who uses them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from host.errors import BadInput, DeviceError

try:
    import pynvml
except ImportError:  # only the extra ``gpu`` brings it
    pynvml = None

MIB = 1024 * 1024


NVMLError: type[Exception] = pynvml.NVMLError if pynvml else RuntimeError
"""What the driver's library raises; nothing does without the library."""


def need_library() -> None:
    """Raises ``BadInput`` where the package that reads the devices is not installed."""
    if pynvml is None:
        raise BadInput(
            "the devices can't be read: the package nvidia-ml-py is missing, expected an installation with "
            "the extra gpu (pip install './host[gpu]')"
        )


@dataclass(frozen=True)
class Device:
    """One device: its UUID, ordinal on the machine, name, capacity in MiB, and NVML's handle of it."""

    uuid: str
    ordinal: int
    name: str
    capacity_mib: int
    handle: Any
    mig: bool = False

    def used_mib(self) -> int:
        """Memory in use now, in whole MiB, as the study's sampler counts it: without the driver's reserve."""
        try:
            memory = pynvml.nvmlDeviceGetMemoryInfo(self.handle, version=pynvml.nvmlMemory_v2)
        except pynvml.NVMLError_FunctionNotFound:
            memory = pynvml.nvmlDeviceGetMemoryInfo(self.handle)
        return int(memory.used) // MIB

    def processes(self) -> list[int]:
        """Ids of the processes that compute on it, as the driver counts them."""
        return [int(item.pid) for item in pynvml.nvmlDeviceGetComputeRunningProcesses(self.handle)]


@contextmanager
def devices() -> Iterator[list[Device]]:
    """Every device of the machine, while NVML is open.

    Raises:
        DeviceError: NVML's library is missing, or the driver does not answer.
        BadInput: the package that asks it is not installed.
    """
    need_library()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise DeviceError(f"the devices cannot be read: {error}") from error
    try:
        yield [_device(ordinal) for ordinal in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError as error:
        raise DeviceError(f"the devices cannot be read: {error}") from error
    finally:
        pynvml.nvmlShutdown()


def driver_version() -> str:
    """The driver's version, while NVML is open."""
    return str(pynvml.nvmlSystemGetDriverVersion())


def _device(ordinal: int) -> Device:
    handle = pynvml.nvmlDeviceGetHandleByIndex(ordinal)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    return Device(
        uuid=str(pynvml.nvmlDeviceGetUUID(handle)),
        ordinal=ordinal,
        name=str(pynvml.nvmlDeviceGetName(handle)),
        capacity_mib=int(memory.total) // MIB,
        handle=handle,
        mig=_is_mig(handle),
    )


def _is_mig(handle: Any) -> bool:
    try:
        return bool(pynvml.nvmlDeviceGetMigMode(handle)[0])
    except (pynvml.NVMLError_NotSupported, pynvml.NVMLError_FunctionNotFound):
        return False


def of_this_host(found: Sequence[Device], only: Sequence[str]) -> list[Device]:
    """The devices that may be used: those named, or all.

    Raises ``DeviceError`` for one that is cut into instances: it has no memory of its own to measure.
    """
    mine = chosen(found, only) if only else list(found)
    for device in mine:
        if device.mig:
            raise DeviceError(
                f"{device.uuid} is cut into MIG instances, which can't be measured one by one here; "
                "turn MIG off, or name the other devices with --devices"
            )
    return mine


def chosen(found: Sequence[Device], uuids: Sequence[str]) -> list[Device]:
    """The devices with these UUIDs, in their order.

    Raises:
        DeviceError: one of them is not on this machine.
    """
    by_uuid = {device.uuid: device for device in found}
    for uuid in uuids:
        if uuid not in by_uuid:
            there = ", ".join(by_uuid) or "none"
            raise DeviceError(f"device {uuid} was ordered, and this machine has {there}")
    return [by_uuid[uuid] for uuid in uuids]


def busy(device: Device, idle_mib: int) -> str:
    """Why a device is not idle, for a person; empty when it is."""
    used, processes = device.used_mib(), device.processes()
    if used <= idle_mib and not processes:
        return ""
    holders = ", ".join(f"process {pid}" for pid in processes) or "no process that can be seen"
    return f"{device.uuid} had {used} MiB in use before the start ({holders})"
