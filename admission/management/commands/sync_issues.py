"""Read followed issues from the forge."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from admission.models.sync import Followed
from admission.sync import following
from admission.sync.errors import SyncError
from admission.sync.forge import Forge
from admission.thread.reading import ExportError
from rlvram_site.ledger.chain import acting


class Command(BaseCommand):
    help = (
        "Follow the issues or repositories of the given addresses and read them now; without addresses, read "
        "everything that is due. Only what is new is recorded, nothing is written to the forge. "
        "Prints a line for each; exits with 1 if one could not be read."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument(
            "address", nargs="*", help="https://HOST/OWNER/NAME/issues/N, OWNER/NAME#N or OWNER/NAME"
        )
        parser.add_argument("--label", default="", help="of a repository: only issues with this label")
        parser.add_argument("--all", action="store_true", help="read everything that is followed, due or not")
        parser.add_argument("--list", action="store_true", help="only say what is followed")
        parser.add_argument(
            "--stop", action="store_true", help="follow the given addresses no more; records stay"
        )

    def handle(self, *args, **options) -> None:
        if options["list"]:
            for followed in Followed.objects.all():
                self.stdout.write(_line(followed))
            return
        try:
            addresses = [following.address_here(text) for text in options["address"]]
        except SyncError as error:
            raise CommandError(str(error)) from None
        with acting("command line"):
            if options["stop"]:
                return self._stop(addresses)
            failed = self._read(addresses, options) if addresses else self._due(everything=options["all"])
        if failed:
            raise CommandError(f"{failed} could not be read; the lines above say why")

    def _read(self, addresses: list[following.Address], options) -> int:
        forge, failed = Forge(), 0
        with forge.connected():
            for address in addresses:
                followed = following.follow(address, label=options["label"] if not address.number else "")
                try:
                    self.stdout.write(following.sync(followed, forge))
                except (SyncError, ExportError, ValidationError) as error:
                    failed += 1
                    self.stdout.write(f"{followed}: {following.words_of(error)}")
        # A repository's issues are due now.
        return failed + (self._due() if any(not address.number for address in addresses) else 0)

    def _due(self, *, everything: bool = False) -> int:
        if everything:
            for followed in Followed.objects.filter(paused=False, parent=None):
                following.resume(followed)
        return following.sync_due(Forge(), said=self.stdout.write)

    def _stop(self, addresses: list[following.Address]) -> None:
        for address in addresses:
            found = following.find(address)
            if found is None:
                raise CommandError(f"{address} is not followed")
            following.unfollow(found)
            self.stdout.write(f"{address} is followed no more; what was recorded stays")


def _line(followed: Followed) -> str:
    state = "paused" if followed.paused else f"due {followed.due_at:%Y-%m-%d %H:%M} UTC"
    last = f"last read {followed.synced_at:%Y-%m-%d %H:%M} UTC" if followed.synced_at else "not read yet"
    return f"{followed}: {state}, {last}{f': {followed.problem}' if followed.problem else ''}"
