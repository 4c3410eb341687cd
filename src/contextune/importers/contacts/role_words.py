"""English words for what people are to somebody: family, friends, and services."""

from contextune.search.tokenize import tokenize

FAMILY_NICKNAMES = frozenset(
    tokenize("""
    mum mom mother mummy mama mam ma dad father daddy papa pa sister sis brother bro wife husband partner son
    daughter grandma granny grandmother gran nan nana grandpa grandfather grandad aunt auntie uncle cousin
    niece nephew boss girlfriend boyfriend oma opa
    """)
)
"""Nicknames that state a relation to the user."""
PLACES = frozenset(tokenize("hospital pharmacy restaurant bank"))
"""Where many people work: of a person it is no relation, of a card of its own it is."""
ABBREVIATIONS = {"PA": "personal assistant"}
"""Abbreviations that are spelled like a nickname of the family."""
SERVICES = PLACES.union(
    tokenize("""
    dentist doctor gp physician pediatrician paediatrician gynecologist gynaecologist dermatologist
    cardiologist psychologist psychiatrist optician orthodontist practitioner nurse midwife therapist
    physiotherapist osteopath chiropractor vet veterinarian pharmacist plumber electrician carpenter painter
    roofer locksmith builder handyman gardener cleaner housekeeper janitor caretaker mechanic hairdresser
    barber stylist beautician lawyer solicitor attorney notary accountant bookkeeper babysitter nanny
    childminder teacher tutor professor coach trainer instructor priest pastor rabbi imam florist baker
    butcher tailor photographer realtor landlord landlady architect translator advisor adviser
    """)
)
"""People and places of whom a user has one: "my dentist"."""
ROLES = FAMILY_NICKNAMES.union(
    SERVICES,
    tokenize("""
    neighbour neighbor friend bestie roommate flatmate housemate colleague coworker manager supervisor
    assistant secretary intern mentor classmate teammate fiance fiancee spouse child parent sibling godmother
    godfather godson goddaughter stepmother stepfather stepson stepdaughter ex buddy pal mate client customer
    supplier tenant driver courier agent broker banker consultant relative dogsitter walker bandmate conductor
    law
    """),
)
"""All words with which a note may state a relation; "law" ends "mother-in-law"."""
