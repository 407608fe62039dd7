"""The call: what `sow agent spawn`, resume, wait, cancel and open do, from the caller's side."""
