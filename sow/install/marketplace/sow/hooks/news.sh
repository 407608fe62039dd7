# Prints what `sow news` has to tell the session whose hook this is, and never fails its turn.
# Silent inside an agent that sow has started, and where there is no .sow folder; no program is
# started there.
[ -z "${SOW_JOB_ID:-}" ] || exit 0
cd "${CLAUDE_PROJECT_DIR:-.}" 2>/dev/null || exit 0
if [ -z "${SOW_ROOT:-}" ]; then
  folder=$PWD
  while [ ! -d "$folder/.sow" ]; do
    [ -n "$folder" ] || exit 0
    folder=${folder%/*}
  done
fi
command -v sow >/dev/null 2>&1 || exit 0
sow news --hook 2>/dev/null
exit 0
