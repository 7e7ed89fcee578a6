// Text on its way to a terminal: what would drive it is made visible. Apart from text.ts, because counting columns brings a
// library that takes as long to load as half of Node, and most lines need no columns.

/**
 * Control characters (C0, DEL, C1), the bidirectional controls, the zero-width space, the line and paragraph separators
 * and the byte order mark. Joiners (U+200C, U+200D) stay: emoji, Persian and Indic scripts are misspelt without them.
 */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * Shows every character that a terminal would act on, or a reader could not see, as an escape of JSON: `\n`, `\u001b`.
 * A lone surrogate becomes U+FFFD. Backslashes stay as they are, so the result is for reading, not for parsing back;
 * but `visible(JSON.stringify(value))` is JSON of the same value.
 */
export function visible(text: string): string {
  return text.toWellFormed().replace(UNSAFE, escapeOf)
}

function escapeOf(character: string): string {
  return SHORT_ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
