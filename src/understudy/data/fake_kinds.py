"""What can be made up for columns of text."""

from __future__ import annotations

FAKES = {
    "name": ("Person", "full_name"),
    "first_name": ("Person", "first_name"),
    "last_name": ("Person", "last_name"),
    "email": ("Person", "email"),
    "phone": ("Person", "phone_number"),
    "username": ("Person", "username"),
    "job": ("Person", "occupation"),
    "address": ("Address", "address"),
    "street": ("Address", "street_name"),
    "city": ("Address", "city"),
    "state": ("Address", "state"),
    "postcode": ("Address", "postal_code"),
    "country": ("Address", "country"),
    "company": ("Finance", "company"),
    "sentence": ("Text", "sentence"),
}
"""What can be made up for a column of text: which provider of mimesis makes it, and how."""

LOCALES = (
    *("ar-ae", "ar-dz", "ar-eg", "ar-jo", "ar-kw", "ar-ma", "ar-om", "ar-qa", "ar-sa", "ar-sy"),
    *("ar-tn", "ar-ye", "az", "cs", "da", "de", "de-at", "de-ch", "el", "en", "en-au", "en-ca"),
    *("en-gb", "es", "es-mx", "et", "fa", "fi", "fr", "hr", "hu", "is", "it", "ja", "kk", "ko"),
    *("nl", "nl-be", "no", "pl", "pt", "pt-br", "ru", "sk", "sv", "tr", "uk", "zh"),
)
"""Languages and countries for which it can be made up."""
