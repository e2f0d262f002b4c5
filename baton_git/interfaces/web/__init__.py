"""The web page, on which a person sees what agents did and makes decisions. Rendered on the server; loads nothing from
other servers."""
