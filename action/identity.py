"""Prints what an install of this action depends on, as one word: its code, its requirements, the Python that runs this.

An install that was kept under this word is the one that would be made now.
"""

import hashlib
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[1]
files = [root / "pyproject.toml", root / "action" / "requirements.txt", *sorted((root / "src").rglob("*"))]
digest = hashlib.sha256(f"{sys.version} {sys.platform}".encode())
for file in files:
    if file.is_file() and "__pycache__" not in file.parts:
        digest.update(f"\0{file.relative_to(root)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
sys.stdout.write(digest.hexdigest()[:32] + "\n")
