"""The database: tables, mapping, migrations. Executes operations, decides none."""
