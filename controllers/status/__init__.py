"""What the process tells of itself: /statusz, and the same for people. One place, so that no two of them say different things.

    gathering   the sections of /statusz, as JSON
    traffic     how much each service did in the last minutes, for the section of services
    answers     what is asked first at 3 a.m.; text and page both begin with it
    text        the whole as lines: `gatehouse status`
    web         the whole as a page for a browser: /status

All but `gathering` and what `traffic` samples is pure: JSON comes in, text goes out.
"""
