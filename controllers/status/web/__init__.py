"""The status page: what /statusz says, as one HTML page for a person with a browser, a phone or a screen reader.

    page      the whole: page(status, now_s, refresh_s) -> str
    opening   the four first answers, before everything else
    sections  the tables below them, one function each; one that fails says so in its place
    features  the tables of what may be off: sidecars, coverage, addresses, databases
    parts     tables, badges and lists of facts, as the other modules need them
    markup    elements; text is escaped because it is text, and not because somebody thought of it
    style     colours and layout: no script, no picture from elsewhere, nothing to build
    serving   the query and the headers

Names on the page come from users' objects. Pure: no thread, clock or socket.
"""
