import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agui', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='cost',
            field=models.DecimalField(blank=True, decimal_places=10, help_text='US dollars. Empty: no price is known.', max_digits=20, null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='first_event_ms',
            field=models.PositiveBigIntegerField(blank=True, help_text="How long until the model's first word, thought or tool call.", null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='spent',
            field=models.JSONField(blank=True, default=dict, help_text='What of it is in Spending, by model.'),
        ),
        migrations.CreateModel(
            name='Spending',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scope', models.CharField(help_text="The owner as one string: 'user:<pk>' or 'session:<key>'.", max_length=255)),
                ('day', models.DateField(help_text="In the site's time zone.")),
                ('model', models.CharField(max_length=255)),
                ('requests', models.PositiveBigIntegerField(default=0)),
                ('input_tokens', models.PositiveBigIntegerField(default=0)),
                ('output_tokens', models.PositiveBigIntegerField(default=0)),
                ('unpriced', models.PositiveBigIntegerField(default=0, help_text='Requests whose price nobody knows.')),
                ('cost', models.DecimalField(blank=True, decimal_places=10, help_text='US dollars, of the other requests.', max_digits=20, null=True)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'spending',
                'ordering': ['-day', '-pk'],
                'indexes': [models.Index(fields=['day'], name='agui_spendi_day_65f39e_idx')],
                'constraints': [models.UniqueConstraint(fields=('scope', 'day', 'model'), name='agui_spending_once')],
            },
        ),
    ]
