"""The web server: a page for browsers, WHIP and WHEP for programs. Only this package imports aiohttp."""
