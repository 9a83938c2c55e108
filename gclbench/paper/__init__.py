"""The papers' printed numbers, and tables that set recorded runs beside them. Imports no torch."""
