"""Two vaults to ask questions of: a clinic's and a client team's. Everybody in them is invented."""

from __future__ import annotations

from pathlib import Path

Vault = dict[str, str]


def healthcare() -> Vault:
    """What a nurse who coordinates care keeps: patients, doctors, medicines, clinics, visits."""
    doctors = [
        ("ines_carvalho", "Ines Carvalho", "cardiology", "harbour_clinic"),
        ("tomasz_bielak", "Tomasz Bielak", "endocrinology", "harbour_clinic"),
        ("aoife_brennan", "Aoife Brennan", "general practice", "mill_lane_practice"),
        ("yusuf_demirel", "Yusuf Demirel", "orthopaedics", "st_brigid_hospital"),
    ]
    patients = [
        ("marta_ohlsson", "Marta Ohlsson", "1951-04-12", "penicillin", "ines_carvalho", "bisoprolol"),
        ("gareth_pugh", "Gareth Pugh", "1948-11-30", "none", "tomasz_bielak", "metformin"),
        ("lucia_ferrante", "Lucia Ferrante", "1962-07-03", "latex", "aoife_brennan", "levothyroxine"),
        ("henrik_dahl", "Henrik Dahl", "1939-01-22", "aspirin", "ines_carvalho", "apixaban"),
        ("noor_haddad", "Noor Haddad", "1985-09-14", "none", "tomasz_bielak", "insulin_glargine"),
        ("piotr_zawada", "Piotr Zawada", "1970-02-08", "ibuprofen", "yusuf_demirel", "paracetamol"),
        ("edith_marlowe", "Edith Marlowe", "1944-06-19", "codeine", "aoife_brennan", "ramipril"),
        ("samuel_osei", "Samuel Osei", "1957-12-05", "none", "ines_carvalho", "atorvastatin"),
        ("greta_vogel", "Greta Vogel", "1966-03-27", "nickel", "yusuf_demirel", "alendronate"),
        ("bruno_salas", "Bruno Salas", "1978-10-11", "none", "tomasz_bielak", "metformin"),
    ]
    clinics = {"harbour_clinic": "Aarhus", "mill_lane_practice": "Odense", "st_brigid_hospital": "Kolding"}
    vault: Vault = {
        "user.md": "# User Information\n- user_name: Karen Lyng\n- occupation: care coordinator\n"
        "- works_at: [[entities/harbour_clinic.md]]\n- working_days: Monday to Thursday\n\n## Patients\n"
        + "".join(f"- {name}: [[entities/{key}.md]]\n" for key, name, *_ in patients)
        + "\n## Doctors\n"
        + "".join(f"- {field}: [[entities/{key}.md|{name}]]\n" for key, name, field, _ in doctors)
    }
    for number, (key, name, born, allergy, doctor, medicine) in enumerate(patients):
        vault[f"entities/{key}.md"] = (
            f"# {name}\n- birth_date: {born}\n- allergy: {allergy}\n"
            f"- phone: +45 20 11 {40 + number} {70 + number}\n"
            f"- doctor: [[{doctor}]]\n\n## Medication\n| medicine | dose | since |\n| --- | --- | --- |\n"
            f"| [[medicine_{medicine}]] | {number + 1} a day | 2029-0{number % 9 + 1}-15 |\n\n"
            f"## Visits\n- 2030-0{number % 9 + 1}-20: [[visits/2030_{number:02}.md]]\n"
        )
        vault[f"visits/2030_{number:02}.md"] = (
            f"# RequestScope of {name}\n- date: 2030-0{number % 9 + 1}-20\n- patient: [[entities/{key}.md]]\n"
            f"- doctor: [[{doctor}]]\n- blood_pressure: {128 + number}/{78 + number}\n\n## Plan\n"
            f"Continue {medicine.replace('_', ' ')}; next visit in {number + 2} weeks.\n"
        )
        vault[f"entities/medicine_{medicine}.md"] = f"# {medicine.replace('_', ' ')}\n- kind: medicine\n"
    for key, name, field, clinic in doctors:
        vault[f"entities/{key}.md"] = f"# {name}\n- field: {field}\n- clinic: [[{clinic}]]\n"
    for key, city in clinics.items():
        vault[f"entities/{key}.md"] = f"# {key.replace('_', ' ').title()}\n- city: {city}\n"
    return vault


def client_success() -> Vault:
    """What somebody who looks after clients keeps: accounts, people there, renewals, meetings, playbooks."""
    accounts = [
        ("brightloom", "Brightloom", "textiles", "Ines Aldana", 84_000, "2031-02-01", "green"),
        ("coppervale", "Coppervale", "mining software", "Raj Menon", 210_000, "2030-11-15", "red"),
        ("dunmore_freight", "Dunmore Freight", "logistics", "Sile Keane", 46_500, "2031-05-30", "green"),
        ("elmquist_labs", "Elmquist Labs", "diagnostics", "Per Elmquist", 132_000, "2030-12-20", "yellow"),
        ("fenwick_rail", "Fenwick Rail", "transport", "Moira Tait", 305_000, "2031-08-09", "green"),
        (
            "glasshouse_media",
            "Glasshouse Media",
            "publishing",
            "Théo Marchand",
            27_900,
            "2030-10-31",
            "yellow",
        ),
        ("hartigan_foods", "Hartigan Foods", "food", "Una Hartigan", 61_200, "2031-03-18", "green"),
        ("ivory_coast_lines", "Ivory Coast Lines", "shipping", "Awa Kone", 178_000, "2031-01-25", "red"),
        ("juniper_health", "Juniper Health", "clinics", "Dana Whitlock", 99_000, "2031-06-12", "green"),
    ]
    vault: Vault = {
        "user.md": "---\nrole: client success manager\naliases: [me]\n---\n"
        "# User Information\n- user_name: Leo Brandt\n"
        "- team_lead: [[entities/petra_novak.md]]\n- quota_2030: 1,100,000\n\n## Accounts\n"
        + "".join(f"- {name}: [[accounts/{key}.md]]\n" for key, name, *_ in accounts)
        + "\n## How we work\n- escalations: [[playbooks/escalation.md]]\n"
        "- renewals: [[playbooks/renewal.md]]\n",
        "entities/petra_novak.md": "# Petra Novak\n- role: team lead\n- city: Brno\n"
        "- phone: +420 602 000 117\n",
        "playbooks/escalation.md": "# Escalation\n1. Tell [[petra_novak]] within a day.\n"
        "2. Write down who waits for what.\n",
        "playbooks/renewal.md": "# Renewal\nBegin 120 days before the date. Red accounts: 180 days.\n",
        "playbooks/onboarding.md": "# Onboarding\n- kick_off: within 5 days\n- first_value: within 30 days\n",
    }
    for number, (key, name, field, contact, worth, renewal, health) in enumerate(accounts):
        person = "".join(
            c for c in contact.lower().replace(" ", "_").replace("é", "e") if c.isalnum() or c == "_"
        )
        vault[f"accounts/{key}.md"] = (
            f"# {name}\n- industry: {field}\n- contact: [[entities/{person}.md|{contact}]]\n"
            f"- yearly_value: {worth} EUR\n"
            f"- renewal_date: {renewal}\n- health: {health}\n\n"
            f"## Meetings\n- [[meetings/2030_{number:02}.md]]\n"
        )
        vault[f"entities/{person}.md"] = (
            f"# {contact}\n- works_at: [[accounts/{key}.md]]\n"
            f"- email: {person}@{key.replace('_', '-')}.example\n"
        )
        vault[f"meetings/2030_{number:02}.md"] = (
            f"# Review with {name}\n- date: 2030-09-{10 + number}\n- with: [[{person}]]\n\n## Notes\n"
            + ("They wait for the export and may leave.\n" if health == "red" else "They are content.\n")
        )
    return vault


def lay_out(vault: Vault, folder: Path) -> None:
    """Write the pages into a folder."""
    for path, text in vault.items():
        page = folder / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
