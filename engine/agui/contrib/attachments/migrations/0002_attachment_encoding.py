from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agui_attachments', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='attachment',
            name='encoding',
            field=models.CharField(default='utf-8', help_text='Of a text.', max_length=20),
        ),
    ]
