"""The roles exist from the start, so that staff only has to put people into them."""

from django.db import migrations

ROLES = ["reviewer", "uploader"]


def create(apps, schema_editor):
    group = apps.get_model("auth", "Group")
    for name in ROLES:
        group.objects.get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies = [("ledger", "0002_api_keys"), ("auth", "0012_alter_user_first_name_max_length")]
    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
