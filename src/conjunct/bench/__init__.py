"""Numbers a stranger can reproduce: registries of known truth, gates side by side, power, corpora, peers.

Nothing here is used by `conjunct vet`: the tool under test never reads a file of labels.
"""
