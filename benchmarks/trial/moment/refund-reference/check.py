from datetime import date

from kiosk.refunds import refund_reference

made = refund_reference(42, date(2026, 3, 1))
assert made == "RB7.000042.010326", made
