"""How figures are drawn: what records they show, their panels, and these as SVG and PNG."""
