"""Threads can be pinned and archived. The database has the defaults, too: during a restart of one
process after the other, older processes write rows without these columns."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ('agui', '0002_alter_apitoken_user'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='thread',
            name='agui_thread_scope_fde5b0_idx',
        ),
        migrations.AddField(
            model_name='thread',
            name='pinned',
            field=models.BooleanField(db_default=False, default=False, help_text='Lists show it before all others.'),
        ),
        migrations.AddField(
            model_name='thread',
            name='archived',
            field=models.BooleanField(db_default=False, default=False, help_text='Only the list of archived threads has it.'),
        ),
        migrations.AddIndex(
            model_name='thread',
            index=models.Index(fields=['scope', 'archived', '-pinned', '-updated_at'], name='agui_thread_listed'),
        ),
    ]
