"""Lists find the runs that wait without reading all runs of their threads."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ('agui', '0003_pin_and_archive'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='run',
            name='agui_run_thread__bad1c2_idx',
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['thread_id', 'scope', 'status'], name='agui_run_thread__5873f8_idx'),
        ),
    ]
