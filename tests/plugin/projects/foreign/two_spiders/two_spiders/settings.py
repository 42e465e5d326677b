FEEDS = {"%(name)s.jsonl": {"format": "jsonlines"}}
