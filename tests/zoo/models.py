"""A zoo of what other people's models seldom have: keys of all kinds, and relations of all kinds."""

from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F


class Keeper(models.Model):
    """The primary key is a one-to-one relation."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True)
    name = models.CharField(max_length=50)

    def __str__(self) -> str:
        return self.name


class Animal(models.Model):
    """UUID, self-relations, JSON, an array, and a column that the database computes."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    keeper = models.ForeignKey(Keeper, on_delete=models.CASCADE)
    mother = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="children")
    friends = models.ManyToManyField("self", blank=True)
    name = models.CharField(max_length=50)
    nicknames = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    kilos = models.PositiveIntegerField()
    grams = models.GeneratedField(
        expression=F("kilos") * 1000, output_field=models.PositiveIntegerField(), db_persist=True
    )

    def __str__(self) -> str:
        return self.name


class Enclosure(models.Model):
    """Many-to-many with a model in between; the manager isn't named `objects`."""

    title = models.CharField(max_length=50)
    animals = models.ManyToManyField(Animal, through="Stay", blank=True)
    shelves = models.Manager()

    def __str__(self) -> str:
        return self.title


class Stay(models.Model):
    animal = models.ForeignKey(Animal, on_delete=models.CASCADE)
    enclosure = models.ForeignKey(Enclosure, on_delete=models.PROTECT)
    since = models.DateField()

    def __str__(self) -> str:
        return f"{self.animal} in {self.enclosure}"


class Feeding(models.Model):
    """The primary key has two columns, one of which refers to a row of the owner."""

    pk = models.CompositePrimaryKey("animal_id", "day")
    animal = models.ForeignKey(Animal, on_delete=models.CASCADE)
    day = models.DateField()
    food = models.CharField(max_length=50)

    def __str__(self) -> str:
        return self.food


class Tariff(models.Model):
    """A composite primary key of plain columns, and an owner beside it."""

    pk = models.CompositePrimaryKey("year", "code")
    year = models.IntegerField()
    code = models.CharField(max_length=5)
    guardian = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    price = models.DecimalField(max_digits=6, decimal_places=2)

    def __str__(self) -> str:
        return self.code
