"""What tools leave behind and no task means to hand in, as patterns of a .gitignore."""

EXCLUDES = """\
__pycache__/
*.py[co]
.venv/
.pytest_cache/
.mypy_cache/
.ruff_cache/
.hypothesis/
.tox/
.nox/
.coverage
.coverage.*
*.egg-info/
node_modules/
.gradle/
.DS_Store
Thumbs.db
*.swp
*~
.env
.merge_file_*
.leadhand-*.tmp
"""
