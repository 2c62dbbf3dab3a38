import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agui', '0003_orders_in_a_table_of_their_part'),
        ('agui_durable', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='RunOrder',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='order', serialize=False, to='agui.run')),
                ('content', models.JSONField(help_text="What is neither in the thread nor in the run's row.")),
                ('attempts', models.PositiveSmallIntegerField(default=0, help_text='How many workers have begun to execute the run.')),
            ],
        ),
    ]
