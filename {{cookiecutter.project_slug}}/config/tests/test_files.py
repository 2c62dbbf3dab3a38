from django.core.files.base import ContentFile
from django.core.files.storage import default_storage


def test_what_is_uploaded_is_not_for_every_account_of_the_machine(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    name = default_storage.save("letter", ContentFile(b"Dear Ada"))
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o640
