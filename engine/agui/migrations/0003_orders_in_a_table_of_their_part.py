from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('agui', '0002_one_run_of_a_thread'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='run',
            name='agui_run_ordered',
        ),
        migrations.RemoveField(
            model_name='run',
            name='attempts',
        ),
        migrations.RemoveField(
            model_name='run',
            name='order',
        ),
    ]
