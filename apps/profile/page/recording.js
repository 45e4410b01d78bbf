// SPDX-License-Identifier: Apache-2.0
// Lines about how a profile was recorded; those that the file does not know are left out.
function showRecording(holder, path, recording) {
  const date = recording.date.replace(/^(\d+-\d+-\d+)T(\d+:\d+).*Z$/, "$1 $2 UTC");
  for (const line of [path, [date, recording.program].filter(Boolean).join(" · ")]) if (line) element("p", {}, line, holder);
  if (recording.command) element("code", {}, recording.command, element("p", {}, null, holder));
  if (recording.options) element("p", {}, `options: ${recording.options}`, holder);
}
