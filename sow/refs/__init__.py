"""References: outside repositories, cloned once on a machine and linked into `.sow/refs`.

What is fetched is data: none of its hooks, filters, settings, submodules or outward links ever
acts. Knows tasks only as lists of names.
"""
