"""English words whose forms a stemmer does not bring together. `analysis` looks them up before it stems."""

from __future__ import annotations

_FORMS = """
    become became; begin began begun; bend bent; bind bound; bite bit bitten; bleed bled; blow blew
    blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought; catch
    caught; choose chose chosen; come came; deal dealt; dig dug; draw drew drawn; dream dreamt; drink
    drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought;
    find found; flee fled; fly flew flown; forget forgot forgotten; forgive forgave forgiven; freeze
    froze frozen; get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard;
    hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; lead led; lean leant;
    leap leapt; learn learnt; leave left; lend lent; lie lain; light lit; lose lost; make made; mean
    meant; meet met; pay paid; prove proven; ride rode ridden; ring rang rung; rise rose risen; run ran;
    say said; see saw seen; seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine
    shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep
    slept; slide slid; speak spoke spoken; spend spent; spin spun; spring sprang sprung; stand stood;
    steal stole stolen; stick stuck; strike struck; swear swore sworn; sweep swept; swim swam swum;
    swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw
    thrown; understand understood; wake woke woken; wear wore worn; weave wove woven; weep wept; win
    won; wind wound; write wrote written; child children; man men; woman women; person people; foot
    feet; tooth teeth; mouse mice; wife wives; knife knives; behavior behaviour; center centre; color
    colour; favor favour; favorite favourite; gray grey; mom mum; neighbor neighbour; neighborhood
    neighbourhood; theater theatre
"""
BASE_FORMS: dict[str, str] = {
    form: base for base, *forms in map(str.split, _FORMS.split(";")) for form in forms
}
"""The base of an irregular verb's past, of an irregular plural, and one spelling of words that have two."""
