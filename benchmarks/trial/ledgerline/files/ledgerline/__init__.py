"""Invoices, payments and reminders."""
