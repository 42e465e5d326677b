"""Tables, their rows, and the migrations between releases."""
