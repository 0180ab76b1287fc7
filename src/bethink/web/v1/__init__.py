"""`/v1`: OpenAI's API, spoken by the clients that people already have.

`chat` and `responses` translate requests into runs, `frames` a run's events into
chunks, `response_frames` into events of responses; `errors` has every error of
these paths told as OpenAI tells it.
Source: OpenAI API reference, November 2026.
"""
