import pytest

from sgl_explain.release import in_range, is_range, parse_release


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("0.4.6", "0.4.6.post5"),
        ("0.4.6.post5", "0.5.0rc1"),
        ("0.5.0rc1", "0.5.0"),
        ("0.5.2", "0.5.10"),
        ("0.5.19", "0.5.23"),
    ],
)
def test_releases_are_ordered_as_pep_440_orders_them(earlier: str, later: str):
    assert parse_release(earlier) < parse_release(later)


@pytest.mark.parametrize(
    ("release", "release_range", "expected"),
    [
        ("0.5.19", ">=0.5.16", True),
        ("0.5.19", ">=0.5.16,<0.5.19", False),
        ("0.5.19", "==0.5.19", True),
        (None, ">=0.5.16", None),
        ("main", ">=0.5.16", None),
        ("0.5.19", "sometimes", None),
    ],
)
def test_range_membership(release: str | None, release_range: str, expected: bool | None):
    assert in_range(release, release_range) is expected


def test_trailing_zeros_do_not_matter():
    assert in_range("0.5", "==0.5.0") is True


def test_a_text_that_is_no_range_is_told_apart():
    assert not is_range("since May")
