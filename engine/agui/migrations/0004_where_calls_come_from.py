from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agui', '0003_orders_in_a_table_of_their_part'),
    ]

    operations = [
        migrations.AddField(
            model_name='auditrecord',
            name='via',
            field=models.CharField(blank=True, db_default='', default='', help_text='The client, if not a run.', max_length=255),
        ),
    ]
