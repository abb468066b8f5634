from __future__ import annotations

import pytest

from clusterns.errors import UserError
from clusterns.vectors.settings import Partition, check_device_name


def test_shares_are_disjoint_and_whole():
    shares = [Partition.parse(f"{index}/3") for index in range(3)]
    owners = [[number for number in range(10) if number in share] for share in shares]
    assert owners == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]
    assert all(number in Partition() for number in range(5))


@pytest.mark.parametrize("text", ["3/3", "1", "1/0", "-1/2", "a/b", "1/2/3", " 0/2", "٠/٢", ""])
def test_no_share(text):
    with pytest.raises(UserError, match="counted from 0, such as 0/4 to 3/4"):
        Partition.parse(text)


def test_names_of_devices():
    for name in ("cpu", "cuda", "cuda:12", "mps"):
        assert check_device_name(name) == name
    for name in ("gpu", "cuda:", "cuda:a", "", "meta"):
        with pytest.raises(UserError, match="a device is cpu, cuda"):
            check_device_name(name)
