// Words of a line of bash up to the cursor, and how a text is written so that bash reads it back.

/** A word as typed so far. */
export interface ShellWord {
  /** Without its quotes. */
  readonly value: string
  /** The quote that is still open at its end. */
  readonly quote: '' | "'" | '"'
  /** Characters of `value` before the part that readline replaces, which begins behind a break character or a quote. */
  readonly kept: number
}

/** Splits a line up to the cursor; the last word is the one under it, and may be empty. `breaks` is $COMP_WORDBREAKS. */
export function wordsOfLine(line: string, breaks: string): ShellWord[] {
  const words: ShellWord[] = []
  let value = ''
  let kept = 0
  let quote: ShellWord['quote'] = ''
  let isBegun = false
  const end = () => {
    words.push({ value, quote, kept })
    value = ''
    kept = 0
    isBegun = false
  }
  for (let at = 0; at < line.length; at++) {
    const character = line[at] as string
    const next = line[at + 1]
    if (quote === "'") {
      if (character === quote) quote = ''
      else value += character
    } else if (character === '\\' && (quote === '' || (next !== undefined && '$`"\\\n'.includes(next)))) {
      // A backslash before the end of a line joins it to the next; one at the very end quotes what is not there yet.
      if (next !== '\n') value += next ?? ''
      isBegun = true
      at++
    } else if (quote === '"') {
      if (character === quote) quote = ''
      else value += character
    } else if (character === "'" || character === '"') {
      quote = character
      isBegun = true
      kept = value.length
    } else if (/\s/.test(character)) {
      if (isBegun) end()
    } else {
      value += character
      isBegun = true
      if (breaks.includes(character)) kept = value.length
    }
  }
  end()
  return words
}

/** Writes a text as one word that every POSIX shell reads back; what needs no quotes gets none. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${quoted(text, "'")}'`
}

/** Writes a text so that bash reads it back, behind a quote that is open already or in none. */
export function quoted(text: string, quote: ShellWord['quote']): string {
  if (quote === "'") return text.replaceAll("'", "'\\''")
  if (quote === '"') return text.replace(/[\\"$`]/g, '\\$&')
  return text.replace(/[\s!"#$&'()*;<>?[\\\]^`{|}~]/g, '\\$&')
}
