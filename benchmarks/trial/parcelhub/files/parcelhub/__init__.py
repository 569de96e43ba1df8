"""Parcels of the shop, from the label to the doorstep."""
