"""Everything that makes an answer private: budgets, ledgers, noise, scores, curators, discovery."""
