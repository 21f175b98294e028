"""What a teammate of some role is told, may use, and thinks with: from files of the project."""
