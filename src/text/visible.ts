// Text for eyes: what a terminal or a table would act on, or not show, is shown.

/** Escapes C0 except tab and newline, DEL, C1, and characters that change the text direction. */
export function visible(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
  return text.replaceAll(unseen, (unit) => `\\x{${unit.charCodeAt(0).toString(16)}}`)
}
