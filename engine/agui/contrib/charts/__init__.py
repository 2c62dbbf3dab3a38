"""Charts that tools draw (`show_chart`), as SVG."""
