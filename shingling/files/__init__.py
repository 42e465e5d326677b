"""Files as people have them: JSON lines and arrays, CSV, archives of pages, folders.

Collections, imports and the command line read them, a line or an entry at a time. Somebody may have
made them to do harm: nothing is read without a limit.
"""
