"""``python -m parcelhub``: list parcels, print labels."""

from __future__ import annotations

import argparse
import sys

from parcelhub.labels import render_label
from parcelhub.store import ParcelNotFound, ParcelStore


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="parcelhub", description=__doc__)
    parser.add_argument("--store", default="parcels.json")
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="list parcels")
    listing.add_argument("--status")
    label = commands.add_parser("label", help="print the label of a parcel")
    label.add_argument("id")
    options = parser.parse_args(arguments)
    store = ParcelStore(options.store)
    if options.command == "list":
        parcels = store.with_status(options.status) if options.status else list(store)
        for parcel in parcels:
            print(f"{parcel.id}\t{parcel.status}\t{parcel.tracking}")
        return 0
    try:
        print(render_label(store.get(options.id)))
    except ParcelNotFound:
        print(f"no parcel {options.id}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
