"""Which web visit stands behind an app: by e-mail address, and after an install (contract 12)."""
