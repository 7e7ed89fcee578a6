// Text on its way to a terminal: what would drive it is made visible, widths are counted in columns.
// Strings only; printing is cli/print.ts.
import stringWidth from 'string-width'

/**
 * Control characters (C0, DEL, C1), the bidirectional controls, the zero-width space, the line and paragraph separators
 * and the byte order mark. Joiners (U+200C, U+200D) stay: emoji, Persian and Indic scripts are misspelt without them.
 */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const ELLIPSIS = '…'

let segmenter: Intl.Segmenter | undefined

/**
 * Shows every character that a terminal would act on, or a reader could not see, as an escape of JSON: `\n`, `\u001b`.
 * A lone surrogate becomes U+FFFD. Backslashes stay as they are, so the result is for reading, not for parsing back;
 * but `visible(JSON.stringify(value))` is JSON of the same value.
 */
export function visible(text: string): string {
  return text.toWellFormed().replace(UNSAFE, escapeOf)
}

/** Columns a text takes in a terminal. Give it text that went through `visible`: control characters count 0 here. */
export function displayWidth(text: string): number {
  return stringWidth(text)
}

/** Cuts a text to a number of columns, between two graphemes, and ends what was cut with an ellipsis. */
export function cutToWidth(text: string, columns: number): string {
  if (isAscii(text) && text.length <= columns) return text
  if (columns < 1) return ''
  segmenter ??= new Intl.Segmenter('en')
  let width = 0
  // The longest start that leaves a column for the ellipsis; the whole text needs none.
  let cutAt = 0
  for (const { segment, index } of segmenter.segment(text)) {
    width += stringWidth(segment)
    if (width > columns) return text.slice(0, cutAt) + ELLIPSIS
    if (width <= columns - 1) cutAt = index + segment.length
  }
  return text
}

/** Brings a text to exactly this many columns: cut when it is longer, filled with spaces when it is shorter. */
export function padToWidth(text: string, columns: number, side: 'end' | 'start' = 'end'): string {
  const cut = cutToWidth(text, columns)
  const filling = ' '.repeat(Math.max(0, columns - displayWidth(cut)))
  return side === 'end' ? cut + filling : filling + cut
}

function escapeOf(character: string): string {
  return SHORT_ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text)
}
