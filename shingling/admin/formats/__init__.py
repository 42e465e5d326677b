"""The files that `export` writes and `import` reads."""
