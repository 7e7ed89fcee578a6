// Escapes of JSON, of URLs and of a terminal: the letter that one ends in is no part of the word after it.

const ESCAPE =
  /\\(?:[nrtbfv]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}(?:\[[0-9;]{0,16}m)?)|%[0-9A-Fa-f]{2}|\u001b\[[0-9;]{0,16}m/g
/** The longest escape, in UTF-16 code units. */
const LONGEST = 24
const ENDS_IN_ESCAPE = new RegExp(`(?:${ESCAPE.source})$`)

/** The text with a space for every character of an escape, so that all other ones keep their places. */
export function blankEscapes(text: string): string {
  return /[\\%\u001b]/.test(text) ? text.replace(ESCAPE, (written) => ' '.repeat(written.length)) : text
}

/** Whether an escape ends right before this place. */
export function isAfterEscape(text: string, at: number): boolean {
  return ENDS_IN_ESCAPE.test(text.slice(Math.max(0, at - LONGEST), at))
}
