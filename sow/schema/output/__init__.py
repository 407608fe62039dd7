"""What commands print with `--json`, a struct for each object; `sow schema` prints their schemas.

One thing has one name and one form in all of them. Shapes only: `sow.reports`
makes those of jobs, tasks and projects, the commands make the others.
"""
