"""Statistics of rows that were encrypted once, by owners who may then go offline.

Three kinds of party: *owners* encrypt the tables and sums of an agreed plan under the key of a
*crypto service*, once; an *aggregator* (a data hub) stores the ciphertexts, adds them up and asks;
the *service* holds the key and decrypts nothing but blinded sums to which it adds noise. Who must
not collude with whom stands in ``docs/encrypted.md``.

- The arithmetic: ``integers``, ``paillier`` (additive encryption), ``packing`` (many numbers in a
  plaintext), ``masks`` (what the service takes off a sum over all owners, and over nothing else).
- Agreed on by all: ``plans``; an owner's file: ``uploads``.
- The service: ``service``; the aggregator: ``session``, ``curator``, ``ways``.
"""
