"""One agent: model loop, tools, gates, journal; knows no team."""
