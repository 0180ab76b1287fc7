"""Words so common in English talk about a life that one of them alone tells nothing of a fact.

`redaction` asks: a sentence that shares one of these with a forgotten fact may be
about anything, one that shares a rarer word is taken to be about that fact.
"""

from __future__ import annotations

_VERBS = """
    accept ask be become begin believe bring build buy call care carry catch change check choose clean close
    come cook cost cut deal decide do draw drink drive eat end enjoy enter expect explain fall feel fight find
    finish fly follow forget get give go grow happen hate have hear help hold hope include join jump keep kill
    know laugh lead learn leave let lie like listen live look lose love make mean meet miss mention move need
    offer open order own pass pay pick plan play prefer prepare promise pull push put reach read receive
    recommend remember remind remove reply report rest ride run save say see seem sell send serve set share
    show shut sing sit sleep speak spend stand start state stay stop store study suggest support switch take
    talk teach tell thank think throw touch train travel treat try turn understand use visit wait wake walk
    want warn wash watch wear win wish work worry write add answer cancel create delete update search note
"""
_PEOPLE = """
    user person people man woman boy girl child children kid baby adult family parent mother mom mum father
    dad brother sister son daughter husband wife partner spouse uncle aunt cousin grandmother grandfather
    grandma grandpa friend colleague boss manager neighbour neighbor guest team group member doctor teacher
    student name guy someone somebody everyone everybody anyone anybody nobody owner assistant
"""
_TIMES = """
    time day night morning noon afternoon evening today tomorrow yesterday tonight week weekend month year
    hour minute second moment date birthday season spring summer autumn fall winter monday tuesday wednesday
    thursday friday saturday sunday january february march april may june july august september october
    november december early late soon later ago always never often usually sometimes once twice again still
    already yet last next past future since until currently recently daily weekly monthly yearly annual
    holiday vacation christmas easter birth age old young new
"""
_THINGS = """
    house home room flat apartment kitchen garden door street road city town village country place area world
    school university college class course office company business job career work project task meeting
    appointment call email mail message letter phone number computer laptop car bike bus train plane ticket
    trip flight hotel shop store market money price bill bank account food meal breakfast lunch dinner snack
    water coffee tea milk bread fruit vegetable meat fish restaurant recipe book film movie music song game
    sport team exercise gym health medicine body head hand eye heart dog cat pet animal photo picture video
    news story idea thought question answer problem issue plan goal reason way thing stuff part kind sort type
    list item example fact detail information memory memories conversation topic subject word language text
    page line title note paper file list weather rain sun snow sea beach mountain river park tree color colour
    clothes shoe shirt gift party event wedding concert visit hobby interest favourite favorite preference
    category context general personal info preferences goals plans importance similarity content stored found
"""
_QUALITIES = """
    good bad great nice fine best better worse worst big small large little long short high low hot cold warm
    cool hard easy simple difficult different same similar important able available free busy ready happy sad
    tired sick ill healthy strong weak fast slow cheap expensive rich poor true false right wrong sure clear
    full empty open closed main major special normal usual real own whole half many much several few enough
    less least lot every each another either neither quite rather really actually maybe perhaps probably even
    almost also too well together alone away back down up home near far here there left right first second
    third one two three four five six seven eight nine ten hundred thousand million yes no not ok okay please
    thanks sorry hello hi hey oh dear black white red blue green yellow brown grey gray
"""

COMMON_WORDS = frozenset(f"{_VERBS} {_PEOPLE} {_TIMES} {_THINGS} {_QUALITIES}".split())
