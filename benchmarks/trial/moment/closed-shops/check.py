from directory.shops import closed_down, read_shops

names = [shop["name"] for shop in closed_down(read_shops())]
assert names == ["Bookshop"], names
