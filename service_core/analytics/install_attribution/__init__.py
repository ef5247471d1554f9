"""Install attribution: matches an app install or an e-mail address to a web visit."""
