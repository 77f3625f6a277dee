from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "studies"
    verbose_name = "Studies"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.models.signals import post_migrate

        from rlvram_site.api.conflicts import tell_as_conflict
        from rlvram_site.ledger.chain import follow_records
        from rlvram_site.ledger.verify import check_derived
        from rlvram_site.waiting import add_source
        from studies.services import worklist
        from studies.services.errors import UNREADABLE
        from studies.services.projections.following import follow
        from studies.services.projections.rebuilding import difference_of_stream, make_missing

        add_source(worklist.waiting, worklist.contradicted)
        tell_as_conflict(*UNREADABLE)
        follow_records(follow)
        check_derived(difference_of_stream)
        post_migrate.connect(make_missing, sender=self, dispatch_uid="study-projections")
