"""What moves on a site and what is a fact: crawls of made sites, in memory."""
