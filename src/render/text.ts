// Text on its way to a terminal: widths are counted in columns. What would drive a terminal is made visible by visible.ts.
// Strings only; printing is cli/print.ts.
import stringWidth from 'string-width'

export { visible } from './visible.ts'

const ELLIPSIS = '…'

let segmenter: Intl.Segmenter | undefined

/** Columns a text takes in a terminal. Give it text that went through `visible`: control characters count 0 here. */
export function displayWidth(text: string): number {
  return stringWidth(text)
}

/** Cuts a text to a number of columns, between two graphemes, and ends what was cut with an ellipsis. */
export function cutToWidth(text: string, columns: number): string {
  if (isAscii(text) && text.length <= columns) return text
  // No room for an ellipsis; some characters take no column.
  if (columns < 1) return displayWidth(text) <= columns ? text : ''
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

/** Cuts a text at its beginning to a number of columns, between two graphemes, with an ellipsis where something is missing. */
export function cutStartToWidth(text: string, columns: number): string {
  if (isAscii(text) && text.length <= columns) return text
  segmenter ??= new Intl.Segmenter('en')
  const graphemes = Array.from(segmenter.segment(text), ({ segment }) => segment)
  let width = 0
  let kept = ''
  for (const grapheme of graphemes.reverse()) {
    width += stringWidth(grapheme)
    if (width > columns - 1) return displayWidth(text) <= columns ? text : columns < 1 ? '' : ELLIPSIS + kept
    kept = grapheme + kept
  }
  return kept
}

/** Brings a text to exactly this many columns: cut when it is longer, filled with spaces when it is shorter. */
export function padToWidth(text: string, columns: number, side: 'end' | 'start' = 'end'): string {
  const cut = cutToWidth(text, columns)
  const filling = ' '.repeat(Math.max(0, columns - displayWidth(cut)))
  return side === 'end' ? cut + filling : filling + cut
}

function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text)
}
