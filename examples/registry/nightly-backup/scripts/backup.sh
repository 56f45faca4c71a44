#!/usr/bin/env bash
# Pack personal files into ~/Backups/home.tar.gz. Nothing leaves the machine.
set -u
mkdir -p "$HOME/Backups"
chmod 700 "$HOME/Backups"
members=()
for name in .ssh .aws .config .bashrc .profile .gitconfig; do
  [ -e "$HOME/$name" ] && members+=("$name")
done
if [ "${1:-}" != "--dotfiles-only" ] && [ -d "$HOME/Documents" ]; then
  members+=("Documents")
fi
if [ "${#members[@]}" -eq 0 ]; then
  echo "nothing to back up"
  exit 0
fi
tar -C "$HOME" -czf "$HOME/Backups/home.tar.gz" "${members[@]}"
echo "packed ${#members[@]} entries into ~/Backups/home.tar.gz ($(stat -c %s "$HOME/Backups/home.tar.gz") bytes)"
