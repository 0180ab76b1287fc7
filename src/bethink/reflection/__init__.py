"""Memory put in order as a whole, at night or when its owner asks: merged, doubted, told, faded.

`pairs` finds what is worth a judgement and decides which words stay, `service` keeps what was worked out in
one commit with a receipt. `agent/reflection` asks the model and says when. docs/adr/0080 has the reasons.
"""
