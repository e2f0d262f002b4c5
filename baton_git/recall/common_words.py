"""Common English words, which say little about the subject of a question."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
    a about all also am an and any are as at be been being but by can could d did do does doing done for from had
    has have having he her here hers him his how i if in into is it its just let ll m me may might more most must my
    no nor not now of on or other our ours out over own please re s same shall she should so some such t than that
    the their theirs them then there these they this those through to too under until up us ve very was we were what
    when where which while who whom whose why will with would you your yours
    """.split()  # noqa: SIM905  a list would need one line per word
)
"""Function words. They are indexed, but used in a query only if the question has no other words."""

WEAK_WORDS = frozenset(
    """
    actual actually add added again ago already always another answer anything app application apply approach ask
    asked aspect back become before began begin best between both bring bug build building built call called came
    cause caused change changed changes choice choose chose chosen code come common complete completed completely
    component consider contain correct create created current currently d data decide decided decision default
    define defined describe description detail details determine develop developed developer developers development
    different discuss discussed each earlier easy end ended ensure every everything exact exactly example exist
    existing exists explain fact feature features file files final finally find first fix fixed follow following
    form found full fully function g e gave general get gets getting give given go goes going good got great group
    handle handled handles happen happened happens help idea implement implementation implemented important include
    included includes information initial initially inside instead issue issues item items keep kept kind know known
    last lately latest later least left level like line list long look made main make makes making manage many
    matter mean means mention mentioned method mode much name named names need needed needs never new newest next
    number occur occurred old oldest one ones only order original originally others overall part particular people
    place point possible prefer preference preferences preferred prefers present previous previously problem process
    project projects provide provided purpose put question rather really reason reasons recall recent recently
    related remain remember remind replace replaced require required result right run running said same say says
    second see seem set sets setting settings setup several show shown shows similar simple since single so solution
    solve solved something sort specific specifically specified start started state status step steps still stop
    strategy structure stuff summarize summary support supported supports system take taken talk tell thing things
    think time times today together told tool total turn two type types update updated use used useful user users
    uses using usually value values various version via want wanted wants way ways well went whether whole within
    without word work worked working works write written wrong yet
    """.split()  # noqa: SIM905  a list would need one line per word
)
"""Words common to most projects and questions: they affect the ranking, but are not evidence that a text matches."""

OVERVIEW_WORDS = frozenset(
    """
    accomplished achieved complete completion current done evolution evolve evolved far happened history initial
    last lately latest newest next overall overview previous progress project projects recent recently session
    sessions since stand stands state status summarize summary timeline today week work worked yesterday
    """.split()  # noqa: SIM905  a list would need one line per word
)
"""Words of questions about the progress of the work as a whole."""
