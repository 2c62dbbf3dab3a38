"""Formulas in TeX, drawn in answers as MathML."""
